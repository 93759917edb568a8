package online

import (
	"cmp"
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
// Decide is an error, and nothing changes. A Model that fails
// keeps those waiting that it fails for; the others start, and the error says what it
// said. When ctx is cancelled it plays no further rule, and the error is ctx.Err().
//
// At most about Budget starts and ends are simulated, each O(tasks that run + tasks
// that wait and do not fit); without a budget it costs O(tasks that wait · GPUs).
func (s *Scheduler) Decide(ctx context.Context, at time.Duration) ([]Decision, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	if at < 0 || s.begun && at < s.now {
		return nil, fmt.Errorf("packer: scheduler: the time is %v; want %v or later, that of the last Decide", at, max(0, s.now))
	}
	s.advance(at)
	s.tidy()
	var out []Decision
	var err error
	if slices.ContainsFunc(s.order, func(e *entry) bool { return len(e.on) == 0 || !e.Restart.IsZero() }) {
		stops, starts := s.lookAhead(ctx)
		out = s.begin(stops, starts)
		err = ctx.Err()
	}
	for _, e := range s.order { // those that start later change the speeds
		if e.rate = 0; len(e.on) > 0 {
			e.rate = s.rate(e)
		}
	}
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
		s.vacate(e)
		e.again = steps(e.Restart.Or(0))
		e.left = min(rollout.MaxLeft, e.left+e.again)
		out = append(out, Decision{Task: e.ID})
	}
	for _, st := range starts {
		e := s.order[st.Job]
		had := s.worth(st.On)
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

// advance lets what runs do its work up to a time.
func (s *Scheduler) advance(at time.Duration) {
	if !s.begun { // times count from any moment, and what was adopted ran before
		s.begun, s.now = true, at
	}
	d := max(0, int64((at-s.now)/time.Millisecond))
	for _, e := range s.order {
		if e.rate > 0 {
			e.work(d)
		}
		e.told = false
	}
	for _, e := range s.leaving {
		e.work(d)
		s.lives.End(e.Kind, e.done/rollout.One)
	}
	s.leaving = s.leaving[:0]
	s.now += time.Duration(d) * time.Millisecond
}

// work lets a task run for so many milliseconds.
func (e *entry) work(d int64) {
	if e.rate <= 0 {
		return
	}
	if !e.told {
		did := e.left
		if d < e.left/e.rate {
			did = d * e.rate
		}
		e.left = max(rollout.One, e.left-did)
	}
	did := min(d, rollout.MaxLeft/e.rate) * e.rate
	again := min(did, e.again)
	e.again -= again
	e.done = min(rollout.MaxLeft, e.done+did-again)
}

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

// setOn is the set of what runs on a GPU.
func (s *Scheduler) setOn(c *slot) int32 {
	for i, e := range c.runs {
		s.set[i] = e.kind
	}
	return s.sets.Running(c.class, c.mech, s.set[:len(c.runs)])
}

// place lets a task run on GPUs.
func (s *Scheduler) place(e *entry, on []int32) {
	e.on = slices.Clone(on)
	for _, g := range on {
		c := &s.slots[g]
		at, _ := slices.BinarySearchFunc(c.runs, e.kind+1, func(o *entry, kind int32) int { return cmp.Compare(o.kind, kind) })
		c.runs = slices.Insert(c.runs, at, e)
		c.room -= int64(e.Memory)
		if len(c.runs) < 3 {
			c.mech = rollout.Any
		}
		_, c.mech = s.sets.Rates(s.setOn(c))
	}
}

// vacate takes a task off its GPUs.
func (s *Scheduler) vacate(e *entry) {
	for _, g := range e.on {
		c := &s.slots[g]
		c.runs = slices.DeleteFunc(c.runs, func(o *entry) bool { return o == e })
		c.room += int64(e.Memory)
	}
	e.on = nil
}

// kindOf is the number of a task's kind.
func (s *Scheduler) kindOf(t *packer.Task) int32 {
	if k, ok := s.kinds[t.Kind]; ok && t.Kind != "" {
		return k
	}
	k := int32(len(s.like))
	like := *t
	like.GPUs = 0 // a gang may share its GPUs with anybody
	s.like = append(s.like, &like)
	if t.Kind != "" {
		s.kinds[t.Kind] = k
	}
	return k
}

// askSet implements [rollout.Ask].
func (s *Scheduler) askSet(class int32, mech int, kinds []int32, rates []int64) (by int, ok bool) {
	c := &s.classes[class]
	s.tasks = s.tasks[:0]
	for _, k := range kinds {
		s.tasks = append(s.tasks, s.like[k])
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

// fillEngine tells the engine what there is.
func (s *Scheduler) fillEngine() {
	x := &s.engine
	x.Jobs, x.Cards = x.Jobs[:0], x.Cards[:0]
	s.lives.Begin()
	for _, e := range s.order {
		s.lives.Open(e.Kind, e.done/rollout.One)
	}
	for _, e := range s.order {
		left, rank := e.left, int64(0)
		if !e.known {
			left, rank = s.guess(e)
		}
		restart, stoppable := e.Restart.Get()
		x.Jobs = append(x.Jobs, rollout.Job{
			Kind: e.kind, Width: int32(e.Width()), Memory: int64(e.Memory), Left: left, Rank: rank, On: e.on, Turn: e.turn, Weight: e.Weight, Due: e.due(),
			Stoppable: stoppable, Restart: int64(restart / time.Millisecond),
		})
	}
	for g := range s.slots {
		c := &s.slots[g]
		x.Cards = append(x.Cards, rollout.Card{Class: c.class, Machine: c.machine, Room: c.room, Less: c.less, Down: c.down, Mech: c.mech})
	}
	x.Begin()
}

// guess is how much work a task still has of which nobody knows it, and its rank.
func (s *Scheduler) guess(e *entry) (left, rank int64) {
	left, rank = s.lives.Left(e.Kind, e.done/rollout.One)
	most := int64(rollout.MaxLeft / rollout.One)
	return min(left, most)*rollout.One + e.again, min(rank, most)*rollout.One + e.again
}
