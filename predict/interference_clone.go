package predict

import "slices"

// Clone returns an independent copy: what either learns from now on, the other
// does not. A plan that asks the same question twice must get the same answer
// twice; it clones the model when it starts. Safe for concurrent use. O(p²) per
// GPU and mechanism, without solving anything.
func (m *Interference) Clone() *Interference {
	m.writer.Lock()
	defer m.writer.Unlock()
	s := *m.load()
	s.regimes = slices.Clone(s.regimes)
	for i, r := range s.regimes {
		s.regimes[i] = r.clone()
	}
	c := &Interference{}
	c.state.Store(&s)
	return c
}

// clone copies a regime with the sums that Observe adds to; all else is never
// modified in place.
func (r *regime) clone() *regime {
	c := *r
	c.learned = r.learned.clone()
	return &c
}
