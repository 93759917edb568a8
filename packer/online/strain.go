package online

import (
	"cmp"
	"slices"

	"example.com/colloc/packer/internal/rollout"
)

// relieve stops the company of tasks whose least speed Change has raised, a service's whose load has
// grown, where they run below it now.
func (s *Scheduler) relieve() []Decision {
	var out []Decision
	slices.SortFunc(s.strains, func(a, b *entry) int { return cmp.Compare(a.turn, b.turn) })
	for _, e := range s.strains {
		e.strained = false
		for _, g := range e.on {
			gone, enough := s.yields(e, &s.slots[g])
			e.strained = e.strained || !enough
			for _, o := range gone {
				s.settle(o)
				s.halt(o)
				out = append(out, Decision{Task: o.ID})
			}
		}
	}
	s.strains = slices.DeleteFunc(s.strains, func(e *entry) bool { return !e.strained })
	return out
}

// strain notes that MinSpeed of a task that runs may be more than its speed.
func (s *Scheduler) strain(e *entry) {
	if !e.strained {
		e.strained = true
		s.strains = append(s.strains, e)
	}
}

// yields are those that leave a GPU for a task there, none if that would not be enough: as few as are enough, first
// those of the lowest class and of these who came last. Those of a higher class stay, and who does not
// say what a restart costs.
func (s *Scheduler) yields(e *entry, c *slot) (gone []*entry, enough bool) {
	without := func(gone ...*entry) bool {
		n := 0
		for _, o := range c.runs {
			if !slices.Contains(gone, o) {
				s.set[n] = o.kind
				n++
			}
		}
		return s.sets.OK(s.sets.Running(c.class, c.mech, s.set[:n]))
	}
	if without() {
		return nil, true
	}
	var may []*entry
	for _, o := range c.runs {
		if o != e && !o.Restart.IsZero() && o.Class <= e.Class {
			may = append(may, o)
		}
	}
	slices.SortFunc(may, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(b.since, a.since), cmp.Compare(b.turn, a.turn))
	})
	for n := range may {
		for some := range 1 << len(may) {
			gone = gone[:0]
			for i, o := range may {
				if some>>i&1 == 1 {
					gone = append(gone, o)
				}
			}
			if len(gone) == n+1 && without(gone...) {
				return gone, true
			}
		}
	}
	return nil, false
}

// halt stops a task that runs, and will repeat what a restart costs.
func (s *Scheduler) halt(e *entry) {
	s.vacate(e)
	e.breaks++
	e.again = steps(e.Restart.Or(0))
	e.left = min(rollout.MaxLeft, e.left+e.again)
}
