package learn

import (
	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Known is a prediction that measurements improve, in two steps. Slowdowns
// less one are multiplied by how much too small they were predicted so far on
// that product in sets of n,
//
//	κₙ = (κₙ₋₁ + Σ measured) / (1 + Σ predicted), κ₁ = 1,
//
// so that sets of a size of which nothing was measured are as wrong as smaller ones, and the speeds of a pair of types that were measured together n times are
//
//	(w · predicted + Σ measured) / (w + n)
//
// with the weight w of a prediction against one measurement.
//
// What was observed counts from the next call of Learn on: until then the same question has
// the same answer.
type Known struct {
	pairs map[pairKey]*measured
	scale map[crowd]*ratio
	total int
	next  int // total at which it is worth while to learn
	solo  [1]float64
}

type pairKey struct{ gpu, task, partner string }

type measured struct {
	sum float64
	n   int
	// what is known
	knownSum float64
	known    int
}

// crowd is sets of n on a product.
type crowd struct {
	gpu string
	n   int
}

// ratio compares slowdowns less one.
type ratio struct{ measured, predicted, knownMeasured, knownPredicted float64 }

// priorWeight is that of a prediction that is some four times as uncertain as a
// measurement: (5 % / 20 %)² = 1/16.
const priorWeight = 1.0 / 16

// New knows nothing but what is predicted.
func New() *Known {
	return &Known{pairs: map[pairKey]*measured{}, scale: map[crowd]*ratio{}, next: 1}
}

// Observe takes in what was measured of a set.
func (l *Known) Observe(s *sim.State, o *sim.CoRun) error {
	if len(o.Set) < 2 || o.OutOfMemory != nil {
		return nil
	}
	product := o.GPU.Model.Name
	r := l.scale[crowd{product, len(o.Set)}]
	if r == nil {
		r = &ratio{}
		l.scale[crowd{product, len(o.Set)}] = r
	}
	predicted := make([]float64, len(o.Set))
	if err := s.Speeds(o.GPU, o.Mechanism, o.Set, predicted); err != nil {
		return err
	}
	for i, t := range o.Set {
		alone, err := l.alone(s, o.GPU, t)
		if err != nil {
			return err
		}
		if o.Speeds[i] > 0 && predicted[i] > 0 {
			r.measured += max(0, alone/o.Speeds[i]-1)
			r.predicted += max(0, alone/predicted[i]-1)
		}
		if len(o.Set) == 2 && t.Type != "" && o.Set[1-i].Type != "" {
			key := pairKey{product, t.Type, o.Set[1-i].Type}
			m := l.pairs[key]
			if m == nil {
				m = &measured{}
				l.pairs[key] = m
			}
			m.sum += o.Speeds[i]
			m.n++
		}
	}
	l.total++
	return nil
}

// Learn makes what was observed count, when there is twice as much as the last
// time; it reports whether it did.
func (l *Known) Learn() bool {
	if l.total < l.next {
		return false
	}
	l.next = 2 * l.total
	l.LearnNow()
	return true
}

// LearnNow makes all that was observed count.
func (l *Known) LearnNow() {
	for _, m := range l.pairs {
		m.knownSum, m.known = m.sum, m.n
	}
	for _, r := range l.scale {
		r.knownMeasured, r.knownPredicted = r.measured, r.predicted
	}
}

// kappa is what slowdowns less one of sets of n are multiplied by.
func (l *Known) kappa(product string, n int) float64 {
	k := 1.0
	for size := 2; size <= n; size++ {
		if r := l.scale[crowd{product, size}]; r != nil {
			k = (k + r.knownMeasured) / (1 + r.knownPredicted)
		}
	}
	return k
}

// alone predicts a task without company.
func (l *Known) alone(s *sim.State, g *sim.GPUView, t *sim.TaskView) (float64, error) {
	one := [1]*sim.TaskView{t}
	err := s.Speeds(g, profile.Exclusive, one[:], l.solo[:])
	return l.solo[0], err
}

// Speeds predicts a set with what is known by now.
func (l *Known) Speeds(s *sim.State, g *sim.GPUView, mech profile.Mechanism, set []*sim.TaskView, dst []float64) error {
	if err := s.Speeds(g, mech, set, dst); err != nil || len(set) < 2 || l.total == 0 {
		return err
	}
	kappa := l.kappa(g.Model.Name, len(set))
	for i, t := range set {
		if dst[i] > 0 {
			alone, err := l.alone(s, g, t)
			if err != nil {
				return err
			}
			if slow := alone/dst[i] - 1; slow > 0 {
				dst[i] = alone / (1 + float64(kappa*slow))
			}
		}
		if len(set) != 2 {
			continue
		}
		if m := l.pairs[pairKey{g.Model.Name, t.Type, set[1-i].Type}]; m != nil && m.known > 0 {
			dst[i] = (float64(priorWeight*dst[i]) + m.knownSum) / (priorWeight + float64(m.known))
		}
	}
	return nil
}
