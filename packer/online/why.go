package online

import (
	"math"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/rollout"
	"example.com/colloc/profile"
)

// Why says why a task waits, as things are now and by the rule that the last Decide found
// best: what would have to change, who is in the way, or what it waits for by choice. Of a
// task that runs, Placed is true and Code 0. Reason.Task is 0, as there is no
// [packer.Problem]. The error is [ErrUnknown], or what the Model says.
//
// It simulates nothing and changes no later answer. It costs a look at each task and GPU, and where
// the rule lets nobody pass, one at each GPU for each task that waits.
func (s *Scheduler) Why(id string) (packer.Reason, error) {
	if err := s.ready(); err != nil {
		return packer.Reason{}, err
	}
	e := s.entries[id]
	if e == nil {
		return packer.Reason{}, s.unknown(id)
	}
	r := packer.Reason{ID: id, Memory: e.Memory, Placed: len(e.on) > 0}
	if r.Placed {
		return r, nil
	}
	s.fillEngine()
	w := s.engine.Why(int32(slices.Index(s.order, e)), s.chosen(), int32(s.largest()))
	r.Largest = s.offered(e)
	s.explain(e, &w, &r)
	err := s.fault
	if err != nil { // ask again the next time
		s.fault = nil
		s.ask()
	}
	return r, err
}

// explain turns what the engine says into a reason.
func (s *Scheduler) explain(e *entry, w *rollout.Wait, r *packer.Reason) {
	missing := max(0, e.Width()-w.Cards)
	switch w.Cause {
	case rollout.Soon:
		r.Code = packer.Undecided
	case rollout.Impossible:
		s.whyNever(e, missing, r)
	case rollout.Down:
		r.Code, r.GPUs = packer.GPUsDown, missing
	case rollout.Kept:
		r.Code, r.Partner, r.GPUs = packer.Kept, s.order[w.By].ID, missing
	case rollout.Chosen:
		r.Code, r.Rule, r.Sharing = packer.ByChoice, s.chosen().String(), packer.NoGain
		s.whySharing(e, w, r)
	case rollout.Taken:
		r.Code, r.GPUs, r.Free = packer.GPUsTaken, missing, w.Cards
		s.whySharing(e, w, r)
	}
}

// whyNever explains a task that could not start if nothing else ran and all GPUs were in
// service.
func (s *Scheduler) whyNever(e *entry, missing int, r *packer.Reason) {
	hosted, runs := false, false
	best := math.Inf(-1)
	for k, n := range s.measure() {
		c := &s.classes[k]
		if n.all == 0 || !c.gpu.Hosts(&e.Task) {
			continue
		}
		hosted = true
		if e.Memory > s.limits.Offer(c.gpu, 1) {
			continue
		}
		speed := s.speedsOf(c, profile.Exclusive, e)[0]
		best = max(best, speed)
		runs = runs || speed > 0 && speed >= e.MinSpeed
	}
	switch {
	case !slices.ContainsFunc(s.slots, func(c slot) bool { return c.state != removed }):
		r.Code, r.GPUs = packer.NoGPU, missing
	case !hosted:
		r.Code = packer.WrongGPU
	case math.IsInf(best, -1):
		r.Code, r.Short = packer.TooLarge, e.Memory-r.Largest
	case !runs:
		r.Code, r.Slow, r.Speed, r.Limit = packer.SpeedLimit, e.ID, best, e.MinSpeed
	default:
		r.Code, r.GPUs = packer.TooFewGPUs, missing
	}
}

// whySharing says what keeps a task off the GPU that comes nearest to taking it.
func (s *Scheduler) whySharing(e *entry, w *rollout.Wait, r *packer.Reason) {
	if w.Card < 0 {
		return
	}
	set := []*entry{e}
	for _, i := range w.With {
		set = append(set, s.order[i])
		r.Beside = append(r.Beside, s.order[i].ID)
	}
	switch w.Lacks {
	case rollout.Full:
		r.Sharing = packer.SetFull
	case rollout.NoRoom:
		r.Sharing, r.Short = packer.MemoryLimit, profile.Bytes(w.Short)
	case rollout.Forbidden:
		s.whyForbidden(&s.slots[w.Card], set, r)
	case rollout.NoGain:
		r.Sharing = packer.NoGain
		if c := &s.classes[s.slots[w.Card].class]; s.tried(c, c.mechs, set) {
			r.Sharing = packer.MeasuredSlow
		}
	default: // it has no place there, whoever runs
		r.Beside = nil
	}
}

// whyForbidden says why a task and those on a GPU, which come after it, must not share.
func (s *Scheduler) whyForbidden(slot *slot, set []*entry, r *packer.Reason) {
	like := func(e *entry) *packer.Task { return s.like[e.kind].task }
	e := set[0]
	for _, o := range set[1:] {
		switch {
		case e.Alone:
			r.Sharing = packer.MustBeAlone
			return
		case o.Alone:
			r.Sharing, r.Partner = packer.MustBeAlone, o.ID
			return
		case !like(e).Accepts(like(o)):
			r.Sharing, r.Partner = packer.Incompatible, o.ID
			return
		}
	}
	r.Sharing, r.Partner = packer.SpeedLimit, set[1].ID
	c := &s.classes[slot.class]
	mechs := c.mechs
	if len(set) > 2 && slot.mech >= 0 { // they do not change how they share
		mechs = []profile.Mechanism{profile.Mechanism(slot.mech)}
	}
	nearest := math.Inf(-1)
	for _, mech := range mechs {
		speeds := s.speedsOf(c, mech, set...)
		slow, lack := 0, math.Inf(1)
		for i, o := range set {
			if d := speeds[i] - o.MinSpeed; d < lack {
				slow, lack = i, d
			}
		}
		if lack > nearest {
			nearest = lack
			r.Slow, r.Speed, r.Limit = set[slow].ID, speeds[slow], set[slow].MinSpeed
		}
	}
	switch {
	case len(mechs) == 0:
		r.Sharing, r.Partner = packer.SetFull, ""
	case s.tried(c, mechs, set):
		r.Sharing = packer.MeasuredSlow
	}
}

// tried reports that tasks ran together on a GPU of a class, and lost.
func (s *Scheduler) tried(c *class, mechs []profile.Mechanism, set []*entry) bool {
	m, ok := s.model.(packer.TriedModel)
	s.tasks = s.tasks[:0]
	for _, e := range set {
		s.tasks = append(s.tasks, s.like[e.kind].task)
	}
	return ok && slices.ContainsFunc(mechs, func(mech profile.Mechanism) bool { return m.Tried(s.tasks, c.gpu, mech) })
}

// speedsOf are the speeds of tasks together on a GPU of a class; zeros where the model
// fails, which is noted. The slice is valid until the next call.
func (s *Scheduler) speedsOf(c *class, mech profile.Mechanism, set ...*entry) []float64 {
	s.tasks, s.speeds = s.tasks[:0], s.speeds[:0]
	for _, e := range set {
		s.tasks, s.speeds = append(s.tasks, s.like[e.kind].task), append(s.speeds, 0)
	}
	if err := packer.Ask(s.model, s.tasks, c.gpu, mech, s.speeds); err != nil && s.fault == nil {
		s.fault = err
	}
	return s.speeds
}
