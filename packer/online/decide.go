package online

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/rollout"
	"example.com/colloc/profile"
)

// Decide says which of the tasks that wait start now, and which stop for them or to move:
// those come first, with Placed false, and wait again or start elsewhere, at a time since any fixed moment,
// and takes them to run from now on. A time that is negative or before that of the last
// Decide or Advance is an error, and nothing changes. A Model that fails
// keeps those waiting that it fails for; the others start, and the error says what it
// said. When ctx is cancelled it plays no further rule, and the error is ctx.Err().
//
// At most about Budget starts and ends are simulated, each O(tasks that run + tasks
// that wait and do not fit); without a budget it costs O(tasks that wait · GPUs).
func (s *Scheduler) Decide(ctx context.Context, at time.Duration) ([]Decision, error) {
	if err := s.Advance(at); err != nil {
		return nil, err
	}
	s.dated = false
	s.tidy()
	out := s.relieve()
	var err error
	if slices.ContainsFunc(s.order, func(e *entry) bool { return len(e.on) == 0 || !e.Restart.IsZero() }) {
		stops, starts := s.lookAhead(ctx)
		out = append(out, s.begin(stops, starts)...)
		err = ctx.Err()
	} else {
		s.settleRuns()
	}
	s.rates() // those that start later change the speeds
	for i := range out {
		e := s.entries[out[i].Task]
		if !out[i].Placed {
			continue
		}
		out[i].Speed, out[i].Mechanism = s.speed(e), s.mechanism(e)
	}
	if s.fault != nil { // ask again the next time
		err = s.fault
		s.fault = nil
		s.ask()
	}
	return out, err
}

// begin lets tasks stop and run.
func (s *Scheduler) begin(stops []int32, starts []rollout.Start) []Decision {
	out := make([]Decision, 0, len(stops)+len(starts))
	for _, i := range stops {
		e := s.order[i]
		s.halt(e)
		out = append(out, Decision{Task: e.ID})
	}
	for _, st := range starts {
		e := s.order[st.Job]
		had := s.worth(st.On)
		if slices.Contains(stops, st.Job) {
			e.moves++
		}
		s.settle(e)
		s.place(e, st.On)
		e.passed = 0
		d := Decision{Task: e.ID, Placed: true, GPU: int(st.On[0]), Gain: s.worth(st.On) - had}
		for _, g := range st.On[1:] {
			d.Gang = append(d.Gang, int(g))
		}
		out = append(out, d)
	}
	return out
}

// worth is the weighted throughput of what runs on some GPUs.
func (s *Scheduler) worth(on []int32) float64 {
	sum := 0.0
	for i, g := range on {
		for _, e := range s.slots[g].runs {
			if !slices.ContainsFunc(on[:i], func(o int32) bool { return slices.Contains(e.on, o) }) { // counted there
				sum += float64(e.EffectiveWeight() * float64(s.rate(e)) / rollout.One)
			}
		}
	}
	return sum
}

// Advance lets what runs do its work up to a time, without a decision: what is told from then to the
// next decision happened then. A time that is negative or before that of the last call is an error, and nothing changes.
func (s *Scheduler) Advance(at time.Duration) error {
	if err := s.ready(); err != nil {
		return err
	}
	if at < 0 || s.begun && at < s.now {
		return fmt.Errorf("packer: scheduler: the time is %v; want %v or later, that of the last call", at, max(0, s.now))
	}
	s.advance(at)
	s.dated = true
	return nil
}

// advance lets what runs do its work up to a time.
func (s *Scheduler) advance(at time.Duration) {
	if !s.begun { // times count from any moment, and what was adopted ran before
		s.begun, s.now = true, at
	}
	if s.dated && at > s.now { // else it happens at the next decision
		s.rates()
	}
	s.now += max(0, at-s.now).Truncate(time.Millisecond)
	for _, e := range s.told {
		s.settle(e)
		e.told = false
	}
	clear(s.told)
	s.told = s.told[:0]
	s.part()
}

// part learns from those that left.
func (s *Scheduler) part() {
	for _, e := range s.leaving {
		s.settle(e)
		s.lives.End(e.Kind, e.done/rollout.One)
	}
	s.leaving = s.leaving[:0]
}

// speed is rate as a share of what the task does alone on the GPU that sets it.
func (s *Scheduler) speed(e *entry) float64 {
	speed := math.Inf(1)
	for _, g := range e.on {
		c := &s.slots[g]
		rates, _ := s.sets.Rates(s.setOn(c))
		pace, _ := packer.AskPace(s.model, &e.Task, s.classes[c.class].gpu)
		speed = min(speed, float64(rates[slices.Index(c.runs, e)])/rollout.One/pace)
	}
	return speed
}

// mechanism is how a task that runs shares its GPUs: the first that it shares.
func (s *Scheduler) mechanism(e *entry) profile.Mechanism {
	for _, g := range e.on {
		if c := &s.slots[g]; len(c.runs) > 1 {
			return profile.Mechanism(c.mech)
		}
	}
	return profile.Exclusive
}
