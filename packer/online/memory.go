package online

import (
	"fmt"
	"time"

	"example.com/colloc/profile"
)

// Watched is what is known of the memory of a task that runs, on each of its GPUs.
type Watched struct {
	// Reserved is what was set aside for it so far: at its start what was predicted.
	Reserved profile.Bytes
	// Bound is what was asked for it, or what it must have since memory ran out: it
	// stands, whatever is seen. 0 is none.
	Bound profile.Bytes
	// Peak is the most that it was seen to use; missing before anything was seen.
	Peak profile.Opt[profile.Bytes]
	// For is how long it has been watched without growing by more than its margin.
	For time.Duration
}

// Needs returns what to set aside for the task from now on: its Bound if it has one, else
// its peak and a margin for growth, once it was watched for so long or is above what is
// reserved, else what is reserved. growth is a fraction of the peak. The headroom of the
// GPU is not in it: that is left free once, whoever runs there. O(1).
func (w *Watched) Needs(after time.Duration, growth float64) profile.Bytes {
	peak := w.Peak.Or(0)
	switch {
	case w.Bound > 0:
		return w.Bound
	case peak > 0 && (w.For >= after || peak > w.Reserved):
		return profile.BytesOf(float64(peak) * (1 + growth))
	}
	return w.Reserved
}

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
	if err := s.reserve(e, s.needs(e, peak)); err != nil {
		return err
	}
	if e.Kind == "" {
		return nil
	}
	s.seen[e.kind] = peak
	for _, o := range s.order {
		if o.kind == e.kind && !o.fixed {
			_ = s.reserve(o, s.needs(o, peak)) // it is valid: e has it
		}
	}
	return nil
}

// needs is what a task needs of which, or of whose Kind, enough was seen.
func (s *Scheduler) needs(e *entry, peak profile.Bytes) profile.Bytes {
	w := Watched{Reserved: e.Memory, Peak: profile.Some(peak)}
	return w.Needs(0, s.o.Growth.Or(DefaultGrowth))
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
