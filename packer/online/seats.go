package online

import (
	"cmp"
	"math"
	"slices"

	"example.com/colloc/packer/internal/rollout"
)

// rate is how much work a task that runs does in a millisecond: that of its slowest
// GPU.
func (s *Scheduler) rate(e *entry) int64 {
	rate := int64(math.MaxInt64)
	for _, g := range e.on {
		c := &s.slots[g]
		rates, _ := s.sets.Rates(s.setOn(c))
		rate = min(rate, rates[slices.Index(c.runs, e)])
	}
	return rate
}

// setOn is the set of what runs on a GPU.
func (s *Scheduler) setOn(c *slot) int32 {
	if c.sets == s.sets {
		return c.set
	}
	for i, e := range c.runs {
		s.set[i] = e.kind
	}
	c.set, c.sets = s.sets.Running(c.class, c.mech, s.set[:len(c.runs)]), s.sets
	return c.set
}

// place lets a task run on GPUs.
func (s *Scheduler) place(e *entry, on []int32) {
	e.on, e.before, e.since = slices.Clone(on), e.progress, s.now
	for _, g := range on {
		c := &s.slots[g]
		at, _ := slices.BinarySearchFunc(c.runs, e.kind+1, func(o *entry, kind int32) int { return cmp.Compare(o.kind, kind) })
		c.runs = slices.Insert(c.runs, at, e)
		c.room -= int64(e.Memory)
		if len(c.runs) < 3 {
			c.mech = rollout.Any
		}
		c.sets = nil
		_, c.mech = s.sets.Rates(s.setOn(c))
		s.touch(g)
	}
}

// touch notes that others run on a GPU than did.
func (s *Scheduler) touch(g int32) {
	s.slots[g].sets = nil
	s.touched = append(s.touched, g)
}

// rates brings up to now those whose company has changed since the last time, all if the Model's answers
// are forgotten, and says anew how fast they are.
func (s *Scheduler) rates() {
	if s.rated != s.sets {
		s.rated = s.sets
		for _, e := range s.order {
			s.rerate(e)
		}
	}
	for _, e := range s.halted {
		s.rerate(e)
	}
	for _, g := range s.touched {
		for _, e := range s.slots[g].runs {
			s.rerate(e)
		}
	}
	clear(s.halted)
	s.halted, s.touched = s.halted[:0], s.touched[:0]
}

func (s *Scheduler) rerate(e *entry) {
	s.settle(e)
	if e.rate = 0; len(e.on) > 0 {
		e.rate = s.rate(e)
	}
}

// vacate takes a task off its GPUs.
func (s *Scheduler) vacate(e *entry) {
	for _, g := range e.on {
		c := &s.slots[g]
		c.runs = slices.DeleteFunc(c.runs, func(o *entry) bool { return o == e })
		c.room += int64(e.Memory)
		s.touch(g)
	}
	if e.on != nil {
		s.halted = append(s.halted, e)
	}
	e.on = nil
}
