package predict

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"example.com/colloc/profile"
)

// Completion fills the gaps in a table of profiled pairs from the pairs alone,
// without features, by low-rank factors with biases:
//
//	loss(i beside j) = μ + a_i + b_j + u_i · v_j
//
// fitted by alternating ridge regressions (Koren, Bell and Volinsky 2009, DOI
// 10.1109/MC.2009.263), one table per (GPU, mechanism). Gavel (Narayanan et al.,
// OSDI 2020) completes its throughputs so. It suits clusters with few, named task
// types of which a third or more of the pairs were profiled; [Interference]
// needs far fewer and also serves types never seen. A Completion never changes
// and is safe for concurrent use.
type Completion struct {
	tables map[regimeKey]*completionTable
}

// CompletionOptions configure [FitCompletion]; nil and the zero value are the
// documented defaults.
type CompletionOptions struct {
	// Rank is the number of factors of a type; 0 means 2.
	Rank int
	// Penalty is the ridge penalty on factors and biases, in units of one
	// observation; 0 means 0.5.
	Penalty float64
	// Sweeps is how often the factors are alternated; 0 means 30.
	Sweeps int
}

type completionTable struct {
	index map[taskType]int
	mean  float64
	rank  int
	own   [][]float64 // per type: bias, then factors
	other [][]float64
}

type completionCell struct {
	own, other int
	loss       float64
}

// FitCompletion factorises the pairs in obs; sets of other sizes and tasks
// without a name are left out. It returns an error for options out of range and
// for what [FitInterference] refuses. O(sweeps × pairs × rank²).
func FitCompletion(obs []SpeedObservation, o *CompletionOptions) (*Completion, error) {
	options := CompletionOptions{Rank: 2, Penalty: 0.5, Sweeps: 30}
	if o != nil {
		if o.Rank != 0 {
			options.Rank = o.Rank
		}
		if o.Penalty != 0 {
			options.Penalty = o.Penalty
		}
		if o.Sweeps != 0 {
			options.Sweeps = o.Sweeps
		}
	}
	if options.Rank < 0 || options.Rank > 64 || !(options.Penalty > 0) || math.IsInf(options.Penalty, 1) || options.Sweeps < 0 || options.Sweeps > 1e4 {
		return nil, errors.New("predict: completion: want rank 0 to 64, a penalty above 0 and at most 10000 sweeps")
	}
	for i := range obs {
		if err := checkObservation(&obs[i]); err != nil {
			return nil, fmt.Errorf("predict: completion: observation %d: %w", i, err)
		}
	}
	c := &Completion{tables: make(map[regimeKey]*completionTable)}
	for _, g := range groupByRegime(obs) {
		t := &completionTable{index: make(map[taskType]int), rank: options.Rank}
		cells := t.cells(g.obs)
		if err := t.fit(cells, options); err != nil {
			return nil, fmt.Errorf("predict: completion: %s under %v: %w", g.gpu, g.mechanism, err)
		}
		c.tables[g.regimeKey] = t
	}
	return c, nil
}

// cells numbers the types and lists the measured entries.
func (t *completionTable) cells(obs []*SpeedObservation) []completionCell {
	var out []completionCell
	for _, o := range obs {
		if len(o.Set) != 2 {
			continue
		}
		a, okA := typeOf(o.Set[0])
		b, okB := typeOf(o.Set[1])
		if !okA || !okB {
			continue
		}
		i, j := t.number(a), t.number(b)
		for k, cell := range [2]completionCell{{own: i, other: j}, {own: j, other: i}} {
			if v, ok := o.Speeds[k].Get(); ok {
				cell.loss = lossOf(v)
				out = append(out, cell)
				t.mean += cell.loss
			}
		}
	}
	t.mean /= float64(max(1, len(out)))
	return out
}

func (t *completionTable) number(k taskType) int {
	i, ok := t.index[k]
	if !ok {
		i = len(t.own)
		t.index[k] = i
		t.own, t.other = append(t.own, t.start(i)), append(t.other, t.start(i+1))
	}
	return i
}

// start gives a type distinct small factors, so that the first sweep can tell
// the directions apart.
func (t *completionTable) start(i int) []float64 {
	f := make([]float64, 1+t.rank)
	for k := range t.rank {
		f[k+1] = 0.1 * math.Sin(float64((i+1)*(2*k+1)))
	}
	return f
}

func (t *completionTable) fit(cells []completionCell, o CompletionOptions) error {
	for range o.Sweeps {
		for i := range t.own {
			if err := t.solve(cells, i, true, o.Penalty); err != nil {
				return err
			}
		}
		for j := range t.other {
			if err := t.solve(cells, j, false, o.Penalty); err != nil {
				return err
			}
		}
	}
	return nil
}

// solve fits bias and factors of one type on one side, the other side fixed.
func (t *completionTable) solve(cells []completionCell, at int, own bool, penalty float64) error {
	p := 1 + t.rank
	h, g := mat.NewSymDense(p, nil), mat.NewVecDense(p, nil)
	for k := range p {
		h.SetSym(k, k, penalty)
	}
	x := make([]float64, p)
	for _, c := range cells {
		self, fixed := c.own, t.other[c.other]
		if !own {
			self, fixed = c.other, t.own[c.own]
		}
		if self != at {
			continue
		}
		x[0] = 1
		copy(x[1:], fixed[1:])
		addNormal(h, g, x, c.loss-t.mean-fixed[0], 1)
	}
	r, err := solveNormal(h, g)
	if err != nil {
		return err
	}
	if own {
		t.own[at] = r.coef
	} else {
		t.other[at] = r.coef
	}
	return nil
}

// Speed returns the speed of task beside other, in (0, 1], and false where the
// GPU and mechanism or one of the types were not among the observations: then
// nothing is known but the mean. It does not allocate for a catalogue name.
func (c *Completion) Speed(gpu *profile.GPUModel, mech profile.Mechanism, task, other *profile.Profile) (float64, bool) {
	v, ok := c.Ratio(gpu, mech, task, other)
	return min(1, max(LeastSpeed, v)), ok
}

// Ratio is Speed without the cap at 1, as [Interference.Ratios] is.
func (c *Completion) Ratio(gpu *profile.GPUModel, mech profile.Mechanism, task, other *profile.Profile) (float64, bool) {
	t, ok := c.tables[regimeKey{gpuName(gpu), mech}]
	if !ok {
		return 1, false
	}
	loss := t.mean
	a, okA := t.find(task)
	b, okB := t.find(other)
	if okA {
		loss += t.own[a][0]
	}
	if okB {
		loss += t.other[b][0]
	}
	if okA && okB {
		loss += dot(t.own[a][1:], t.other[b][1:])
	}
	return speedOf(loss), okA && okB
}

func (t *completionTable) find(p *profile.Profile) (int, bool) {
	k, named := typeOf(p)
	if !named {
		return 0, false
	}
	i, ok := t.index[k]
	return i, ok
}
