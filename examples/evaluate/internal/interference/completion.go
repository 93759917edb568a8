package interference

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// completion fills the gaps in a table of profiled pairs from the pairs alone,
// without features, by low-rank factors with biases:
//
//	loss(i beside j) = μ + a_i + b_j + u_i · v_j
//
// fitted by alternating ridge regressions (Koren, Bell and Volinsky 2009, DOI
// 10.1109/MC.2009.263), one table per GPU and mechanism. Gavel (Narayanan et al.,
// OSDI 2020) completes its throughputs so. Pairs of tasks without a name are left
// out.
type completion map[string]*lowRank

// The rank, the ridge penalty on factors and biases in units of one
// observation, and how often the factors are alternated.
const (
	completionRank    = 2
	completionPenalty = 0.5
	completionSweeps  = 30
)

// lowRank is the table of one GPU and mechanism.
type lowRank struct {
	index map[string]int // by type of task
	mean  float64
	own   [][]float64 // per type: bias, then factors
	other [][]float64
	cells []completionCell
}

type completionCell struct {
	own, other int
	loss       float64
}

// fitCompletion factorises the measured pairs. O(sweeps × pairs × rank²).
func fitCompletion(obs []interference.Observation) (completion, error) {
	c := completion{}
	for i := range obs {
		key := tableOf(&obs[i])
		if c[key] == nil {
			c[key] = &lowRank{index: make(map[string]int)}
		}
		c[key].add(&obs[i])
	}
	for _, t := range c {
		if err := t.fit(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func tableOf(o *interference.Observation) string {
	return o.Set[0].GPU.Name + "|" + o.Mechanism.String()
}

// add numbers the types of a pair and lists its measured entries.
func (t *lowRank) add(o *interference.Observation) {
	if len(o.Set) != 2 || o.Set[0].Spec.Model.Name == "" || o.Set[1].Spec.Model.Name == "" {
		return
	}
	i, j := t.number(o.Set[0]), t.number(o.Set[1])
	for k, cell := range [2]completionCell{{own: i, other: j}, {own: j, other: i}} {
		if v, ok := o.Speeds[k].Get(); ok {
			cell.loss = lossOf(v)
			t.cells = append(t.cells, cell)
			t.mean += cell.loss
		}
	}
}

func (t *lowRank) number(p *profile.Profile) int {
	k := p.Spec.Type()
	i, ok := t.index[k]
	if !ok {
		i = len(t.own)
		t.index[k] = i
		t.own, t.other = append(t.own, firstFactors(i)), append(t.other, firstFactors(i+1))
	}
	return i
}

// firstFactors gives a type distinct small factors, so that the first sweep can
// tell the directions apart.
func firstFactors(i int) []float64 {
	f := make([]float64, 1+completionRank)
	for k := range completionRank {
		f[k+1] = 0.1 * math.Sin(float64((i+1)*(2*k+1)))
	}
	return f
}

func (t *lowRank) fit() error {
	t.mean /= float64(max(1, len(t.cells)))
	for range completionSweeps {
		for i := range t.own {
			if err := t.solve(i, true); err != nil {
				return err
			}
		}
		for j := range t.other {
			if err := t.solve(j, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// solve fits bias and factors of one type on one side, the other side fixed.
func (t *lowRank) solve(at int, own bool) error {
	const p = 1 + completionRank
	h, g := mat.NewSymDense(p, nil), mat.NewVecDense(p, nil)
	for k := range p {
		h.SetSym(k, k, completionPenalty)
	}
	for _, c := range t.cells {
		self, fixed := c.own, t.other[c.other]
		if !own {
			self, fixed = c.other, t.own[c.own]
		}
		if self != at {
			continue
		}
		x, y := [p]float64{1, fixed[1], fixed[2]}, c.loss-t.mean-fixed[0]
		for j := range p {
			g.SetVec(j, g.AtVec(j)+float64(x[j]*y))
			for k := j; k < p; k++ {
				h.SetSym(j, k, h.At(j, k)+float64(x[j]*x[k]))
			}
		}
	}
	var chol mat.Cholesky
	var b mat.VecDense
	if !chol.Factorize(h) {
		return errors.New("matrix completion: the normal equations are singular")
	}
	if err := chol.SolveVecTo(&b, g); err != nil {
		return err
	}
	factors := append([]float64(nil), b.RawVector().Data...)
	if own {
		t.own[at] = factors
	} else {
		t.other[at] = factors
	}
	return nil
}

// guess says the mean of what is not known.
func (c completion) guess(r *dataset.SpeedRow, g *pairGuess) error {
	o := &r.Observation
	for i := range o.Set {
		g.said[i].Value = 1
		if t := c[tableOf(o)]; t != nil {
			g.said[i].Value = t.speed(o.Set[i], o.Set[1-i])
		}
	}
	return nil
}

func (t *lowRank) speed(task, other *profile.Profile) float64 {
	loss := t.mean
	a, okA := t.index[task.Spec.Type()]
	b, okB := t.index[other.Spec.Type()]
	if okA {
		loss += t.own[a][0]
	}
	if okB {
		loss += t.other[b][0]
	}
	if okA && okB {
		var sum float64
		for k, u := range t.own[a][1:] {
			sum += float64(u * t.other[b][k+1])
		}
		loss += sum
	}
	if loss <= 0.5 {
		return 1 - loss
	}
	return 0.25 / loss
}

// lossOf is 1 − speed down to a speed of one half, and beyond it grows as the
// slowdown does, with the same slope there.
func lossOf(speed float64) float64 {
	if speed >= 0.5 {
		return 1 - speed
	}
	return 0.25 / max(speed, predict.LeastSpeed)
}
