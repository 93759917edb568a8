package predict

import (
	"fmt"
	"slices"
)

// Observe learns from one measured co-run: the rows are added to the normal
// equations of its GPU and mechanism, each less what the trees say of it, and
// the solution is updated by rank one each, exactly as if it were solved anew
// with the rest; new types get their effects. A GPU or mechanism seen for the
// first time starts from the prior. Readers see the model before or after the
// observation, never between.
//
// It returns an error, and learns nothing, for what [FitInterference] refuses.
// O(p²) per speed with p columns; it copies the solution.
func (m *Interference) Observe(o SpeedObservation) error {
	if err := checkObservation(&o); err != nil {
		return fmt.Errorf("predict: interference: %w", err)
	}
	m.writer.Lock()
	defer m.writer.Unlock()
	s := m.load()
	key := regimeKey{catalogueName(o.GPU), o.Mechanism}
	old, known := s.regime(key.gpu, key.mechanism)
	r := old.successor(key, known, &o)
	r.learn(&o)
	m.state.Store(s.with(r, known))
	return nil
}

// learn adds the speeds of one co-run to what was learned and to the solution,
// both of which must be the regime's own.
func (r *regime) learn(o *SpeedObservation) {
	w := gather(r, o.Set)
	defer scratchPool.Put(w)
	w.cov = slices.Grow(w.cov[:0], len(r.lambda))[:len(r.lambda)]
	set := w.set
	for i, speed := range o.Speeds {
		y, ok := speed.Get()
		if !ok || len(set) < 2 {
			continue
		}
		loss := lossOf(y)
		r.drift.add(loss-r.loss(set, i, true), r.expected(set, i, &w.row))
		for j := range set {
			if j != i {
				loss -= r.treeLoss(&set[i], &set[j])
			}
		}
		weight := lossSlope(lossOf(y)) * lossSlope(lossOf(y))
		r.learned.addRow(&w.row, loss, weight)
		r.post.update(&w.row, loss, weight, w.cov)
	}
}

// expected fills w with the row of task i and returns the half width of its
// interval.
func (r *regime) expected(set []member, i int, w *sparse) float64 {
	fillRow(w, set, i)
	return r.spread.halfWidth(r.post.variance(w), familiarity(set, i), len(set))
}

// successor returns a copy of a regime that may be changed, with columns for
// every type of the observation.
func (r *regime) successor(key regimeKey, known bool, o *SpeedObservation) *regime {
	next := *r
	next.regimeKey = key
	if !known {
		next.learned, next.base = &normal{}, &normal{}
	}
	for _, p := range o.Set {
		if t, ok := typeOf(p); ok {
			next.roster = next.roster.with(t, false)
		}
	}
	if next.roster != r.roster {
		next.lambda = next.roster.precisions()
		next.mu = append(slices.Clone(r.mu), make([]float64, len(next.lambda)-len(r.mu))...)
	}
	next.learned.grow(len(next.lambda))
	next.post = r.post.clone(next.lambda, next.mu)
	return &next
}

// with returns a state in which r stands for its GPU and mechanism.
func (s *interferenceState) with(r *regime, known bool) *interferenceState {
	next := &interferenceState{options: s.options, regimes: slices.Clone(s.regimes), priors: s.priors}
	if !known {
		next.regimes = append(next.regimes, r)
		return next
	}
	for i, old := range next.regimes {
		if old.regimeKey == r.regimeKey {
			next.regimes[i] = r
		}
	}
	return next
}
