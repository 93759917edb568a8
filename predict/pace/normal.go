package pace

import (
	"fmt"
	"slices"

	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/profile"
)

// The columns of the fit: the weights of all tasks, what the 16-bit formats add
// and the others subtract, what each family adds, and the fullness.
const (
	common       = 0
	contrast     = 3
	firstFamily  = 6
	fullness     = firstFamily + 3*profile.Families
	columns      = fullness + 1
	lightPenalty = 0.1
	heavyPenalty = 10
)

// trial is one card's mean log throughput of one task.
type trial struct {
	kind
	log float64
	n   int
	x   [columns]float64
}

// comparison is the cards on which one task was measured.
type comparison struct {
	task, group string
	profile     *profile.Profile
	trials      []trial
}

func (c *comparison) add(card kind, log float64) {
	i := slices.IndexFunc(c.trials, func(t trial) bool { return t.name == card.name })
	if i < 0 {
		i = len(c.trials)
		c.trials = append(c.trials, trial{kind: card, x: rowOf(c.profile, &card.rates)})
	}
	t := &c.trials[i]
	t.n++
	t.log += (log - t.log) / float64(t.n)
}

// rowOf is what the columns multiply for a task on a card.
func rowOf(p *profile.Profile, r *rates) (x [columns]float64) {
	family, narrow := familyOf(p), narrowness(p)
	sign, empty := float64(2*narrow-1), emptiness(p, family)
	for i, v := range r.of(narrow) {
		x[common+i], x[contrast+i] = v, sign*v
		if family != profile.UnknownFamily {
			x[firstFamily+3*int(family)+i] = v
		}
		x[fullness] += float64(empty * priorWeights[i] * v)
	}
	return x
}

// sum adds the cards of one task less their mean, because nobody knows how fast
// a task is on no card.
func (c *comparison) sum(to *lsq.Sums, weight float64) {
	n := float64(len(c.trials))
	var mean [columns]float64
	for i := range c.trials {
		t := &c.trials[i]
		for j, v := range t.x {
			mean[j] += v / n
		}
	}
	var row lsq.Row
	for i := range c.trials {
		t := &c.trials[i]
		row.Reset()
		for j, v := range t.x {
			row.Add(j, v-mean[j])
		}
		to.AddRow(&row, t.log, weight)
	}
}

// solve sets the weights from the sums of groups.
func (s *state) solve(groups []*lsq.Sums) error {
	var lambda, mu [columns]float64
	for i := range lambda {
		lambda[i] = heavyPenalty
		if i < contrast || i == fullness {
			lambda[i] = lightPenalty
		}
	}
	copy(mu[common:], priorWeights[:])
	post, err := lsq.Solve(lambda[:], mu[:], lsq.Span{}, groups...)
	if err != nil {
		return fmt.Errorf("predict/pace: %w", err)
	}
	b := post.Coef
	for f := range s.Weights {
		for narrow := range s.Weights[f] {
			for i := range priorWeights {
				w := b[common+i] + float64(float64(2*narrow-1)*b[contrast+i])
				if f != int(profile.UnknownFamily) {
					w += b[firstFamily+3*f+i]
				}
				s.Weights[f][narrow][i] = num.Round9(max(0, w))
			}
		}
	}
	s.Fullness = num.Round9(max(0, b[fullness]))
	return nil
}
