package online

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/rollout"
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
	if err := (&packer.Task{ID: id, Memory: peak}).Validate(); err != nil {
		return err
	}
	peak = max(peak, s.like[e.kind].peak)
	if err := s.reserve(e, s.needs(e, peak)); err != nil {
		return err
	}
	if e.Kind == "" {
		return nil
	}
	s.like[e.kind].peak = peak
	for _, o := range s.order {
		if o.kind == e.kind && !o.fixed {
			_ = s.reserve(o, s.needs(o, peak)) // it is valid: e has it
		}
	}
	return nil
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

// ask forgets what the model said.
func (s *Scheduler) ask() {
	s.sets = rollout.NewSets(len(s.classes), s.askSet)
	s.engine.Sets = s.sets
}

// askSet implements [rollout.Ask].
func (s *Scheduler) askSet(class int32, mech int, kinds []int32, rates []int64) (by int, ok bool) {
	c := &s.classes[class]
	s.tasks = s.tasks[:0]
	for _, k := range kinds {
		s.tasks = append(s.tasks, s.like[k].task)
	}
	s.speeds = append(s.speeds[:0], make([]float64, len(kinds))...)
	s.mechs[0] = profile.Mechanism(mech)
	mechs := s.mechs[:]
	if len(kinds) == 1 {
		s.mechs[0] = profile.Exclusive
	} else if mech == rollout.Any {
		mechs = c.mechs
	}
	by = mech
	best := math.Inf(-1)
	for _, m := range mechs {
		if err := packer.Ask(s.model, s.tasks, c.gpu, m, s.speeds); err != nil {
			s.fault = cmp.Or(s.fault, err)
			return by, false
		}
		total, good := 0.0, true
		for i, t := range s.tasks {
			total += s.speeds[i]
			good = good && s.speeds[i] >= t.MinSpeed
		}
		if good == ok && total > best || good && !ok {
			best, by, ok = total, int(m), good
			if err := s.toRates(c, rates); err != nil {
				s.fault = cmp.Or(s.fault, err)
				return by, false
			}
		}
	}
	return by, ok && s.allowed(c)
}

// toRates turns speeds of s.tasks into rates.
func (s *Scheduler) toRates(c *class, rates []int64) error {
	for i, t := range s.tasks {
		pace, err := packer.AskPace(s.model, t, c.gpu)
		if err != nil {
			return err
		}
		rates[i] = int64(math.Round(float64(s.speeds[i]*pace) * rollout.One))
	}
	return nil
}

// allowed reports whether s.tasks may share a GPU of a class as far as no model is
// needed.
func (s *Scheduler) allowed(c *class) bool {
	for i, t := range s.tasks {
		if !c.gpu.Hosts(t) || t.Alone && len(s.tasks) > 1 {
			return false
		}
		for _, o := range s.tasks[:i] {
			if !t.Accepts(o) {
				return false
			}
		}
	}
	return true
}
