package online

import (
	"fmt"

	"example.com/colloc/profile"
)

// Seen says what monitoring shows: the peak memory of a task on each of its GPUs, once it
// has run for long enough, some minutes, to show it. From then on that and a margin for
// growth are reserved for it, see SchedulerOptions.Growth, instead of what was predicted;
// and for tasks of its Kind, now or later, the largest peak of all, but for those of which
// Job.Fixed or Reserve says more. Tell it of
// a task as often as its peak grows. A peak that is not above 0, or more than memory can
// be, is an error and changes nothing.
func (s *Scheduler) Seen(id string, peak profile.Bytes) error {
	e := s.entries[id]
	if e == nil {
		return s.unknown(id)
	}
	if peak <= 0 {
		return fmt.Errorf("packer: scheduler: task %q was seen to use %v; want more than 0", id, peak)
	}
	if e.Kind != "" {
		peak = max(peak, s.seen[e.kind])
	}
	if err := s.reserve(e, s.grown(peak)); err != nil {
		return err
	}
	if e.Kind == "" {
		return nil
	}
	s.seen[e.kind] = peak
	for _, o := range s.order {
		if o.kind == e.kind && !o.fixed {
			_ = s.reserve(o, s.grown(peak)) // it is valid: e has it
		}
	}
	return nil
}

// grown is a peak with room for growth.
func (s *Scheduler) grown(peak profile.Bytes) profile.Bytes {
	return profile.BytesOf(float64(peak) * (1 + s.o.Growth.Or(DefaultGrowth)))
}

// Reserve changes the memory that is set aside for a task on each of its GPUs: what
// monitoring shows replaces what was predicted. A GPU that is over its memory by this
// takes nobody else. What is seen of others of its Kind changes it no more.
func (s *Scheduler) Reserve(id string, memory profile.Bytes) error {
	e := s.entries[id]
	if e == nil {
		return s.unknown(id)
	}
	if err := s.reserve(e, memory); err != nil {
		return err
	}
	e.fixed = true
	return nil
}

func (s *Scheduler) reserve(e *entry, memory profile.Bytes) error {
	t := e.Task
	t.Memory = memory
	if err := t.Validate(); err != nil {
		return err
	}
	for _, g := range e.on {
		s.slots[g].room += int64(e.Memory - memory)
	}
	e.Memory = memory
	return nil
}

// maxSets is how many sets are remembered, and maxSpare how many kinds without tasks.
const (
	maxSets  = 1 << 18
	maxSpare = 1 << 12
)

// tidy forgets what tasks that ended left behind, before it grows without end.
func (s *Scheduler) tidy() {
	if s.spare > maxSpare && s.spare > len(s.like)/2 {
		to := make([]int32, len(s.like))
		n := int32(0)
		for k, t := range s.like { // in their order, as on the GPUs
			to[k] = n
			if t != nil {
				s.like[n] = t
				n++
			}
		}
		s.like, s.spare = s.like[:n:n], 0
		for _, e := range s.order {
			e.kind = to[e.kind]
		}
		for name, k := range s.kinds {
			s.kinds[name] = to[k]
		}
		seen := make(map[int32]profile.Bytes, len(s.seen))
		for k, peak := range s.seen {
			seen[to[k]] = peak
		}
		s.seen = seen
		s.ask()
	}
	if s.sets.Len() > maxSets {
		s.ask()
	}
}
