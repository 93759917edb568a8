package online

import (
	"cmp"
	"fmt"
	"slices"

	"example.com/colloc/profile"
)

// Sound counts all that a Scheduler keeps count of once more, from its tasks and GPUs, and
// says what is not as it should be.
func (s *Scheduler) Sound() error {
	tasks, spare := make([]int, len(s.like)), 0
	for _, e := range s.order {
		tasks[e.kind]++
		if e.told != slices.Contains(s.told, e) || e.strained != slices.Contains(s.strains, e) {
			return fmt.Errorf("task %q was told of: %v, strained: %v; it is not in the lists of those, or is", e.ID, e.told, e.strained)
		}
		if s.entries[e.ID] != e {
			return fmt.Errorf("task %q is not found by its ID", e.ID)
		}
	}
	named := 0
	for k, l := range s.like {
		if tasks[k] == 0 {
			spare++
		}
		if l.tasks != tasks[k] {
			return fmt.Errorf("kind %d has %d tasks; counted are %d", k, tasks[k], l.tasks)
		}
		if l.task == nil || l.task.Kind == "" {
			continue
		}
		if named++; s.kinds[l.task.Kind] != int32(k) {
			return fmt.Errorf("kind %q is %d, and found as %d", l.task.Kind, k, s.kinds[l.task.Kind])
		}
	}
	if spare != s.spare || named != len(s.kinds) || len(s.entries) != len(s.order) {
		return fmt.Errorf("%d kinds without tasks, %d with names, %d tasks; counted are %d, %d and %d", spare, named, len(s.order), s.spare, len(s.kinds), len(s.entries))
	}
	of, there := make([]int, len(s.classes)), 0
	for g := range s.slots {
		c := &s.slots[g]
		if c.state == removed {
			if c.foreign != 0 || len(c.runs) > 0 {
				return fmt.Errorf("index %d is free, and %v are in use there by %d tasks and others", g, c.foreign, len(c.runs))
			}
			if g < s.free {
				return fmt.Errorf("index %d is free, and none below %d is said to be", g, s.free)
			}
			continue
		}
		there++
		of[c.class]++
		if gpu := &s.gpus[g]; s.named[gpu.ID] != int32(g) || !s.classes[c.class].gpu.Alike(gpu) {
			return fmt.Errorf("GPU %q, index %d, is found as %d, in class %d", gpu.ID, g, s.named[gpu.ID], c.class)
		}
		room := s.limits.Usable(s.gpus[g].Total()) - c.foreign
		var runs []*entry
		for _, e := range s.order {
			if slices.Contains(e.on, int32(g)) {
				runs, room = append(runs, e), room-e.Memory
			}
		}
		if profile.Bytes(c.room) != room {
			return fmt.Errorf("GPU %d has room for %v; counted is %v", g, room, profile.Bytes(c.room))
		}
		for n := range c.less {
			if want := s.limits.Usable(s.gpus[g].Total()) - s.limits.Offer(&s.gpus[g], max(1, n)); profile.Bytes(c.less[n]) != want {
				return fmt.Errorf("%d tasks leave %v of GPU %d; counted is %v", n, want, g, profile.Bytes(c.less[n]))
			}
		}
		if !slices.IsSortedFunc(c.runs, func(a, b *entry) int { return cmp.Compare(a.kind, b.kind) }) {
			return fmt.Errorf("what runs on GPU %d is not in the order of kinds", g)
		}
		if len(runs) != len(c.runs) || slices.ContainsFunc(runs, func(e *entry) bool { return !slices.Contains(c.runs, e) }) {
			return fmt.Errorf("%d tasks run on GPU %d; counted are %d", len(runs), g, len(c.runs))
		}
		if c.state == down && len(runs) > 0 {
			return fmt.Errorf("GPU %d is down and runs %d tasks", g, len(runs))
		}
	}
	if there != len(s.named) {
		return fmt.Errorf("%d GPUs, %d of them by name", there, len(s.named))
	}
	for k := range s.classes {
		if s.classes[k].gpus != of[k] {
			return fmt.Errorf("class %d has %d GPUs; counted are %d", k, of[k], s.classes[k].gpus)
		}
	}
	return cmp.Or(s.soundBans(), s.soundOffers(), s.soundLine())
}

// soundLine asks whether the engine is told of all who waited at the last decision and are there, in the order of then.
func (s *Scheduler) soundLine() error {
	var want []int32
	for _, e := range s.line {
		if i := slices.Index(s.order, e); i >= 0 {
			want = append(want, int32(i))
		}
	}
	if s.fillEngine(); !slices.Equal(s.engine.Line, want) {
		return fmt.Errorf("of %d that waited the engine is told of %v; want %v", len(s.line), s.engine.Line, want)
	}
	return nil
}

// soundBans counts who shares each ban.
func (s *Scheduler) soundBans() error {
	tasks := map[*ban]int{}
	for _, e := range s.order {
		if e.ban == nil {
			continue
		}
		if tasks[e.ban]++; s.bans[e.ban.key] != e.ban {
			return fmt.Errorf("task %q is forbidden %v, which is not found", e.ID, e.ban.gpus)
		}
	}
	for _, b := range s.bans {
		if tasks[b] != b.tasks || b.tasks == 0 {
			return fmt.Errorf("%d tasks are forbidden %v; counted are %d", tasks[b], b.gpus, b.tasks)
		}
	}
	return nil
}

// soundOffers looks for the largest GPU that each task could have, if it were so wide: by one GPU after the other
// and those that are alike.
func (s *Scheduler) soundOffers() error {
	for _, e := range s.order {
		for width := 1; width <= 4; width++ {
			var most [3]profile.Bytes // on enough GPUs of a machine, on enough of several, on too few
			for g := range s.slots {
				gpu := &s.gpus[g]
				if s.slots[g].state == removed || !gpu.Hosts(&e.Task) {
					continue
				}
				together, apart := 0, 0
				for o := range s.slots {
					if s.slots[o].state == removed || !gpu.Alike(&s.gpus[o]) {
						continue
					}
					if apart++; s.slots[o].machine == s.slots[g].machine {
						together++
					}
				}
				at := 2
				if together >= width {
					at = 0
				} else if apart >= width {
					at = 1
				}
				most[at] = max(most[at], s.limits.Offer(gpu, 1))
			}
			wide := entry{Job: e.Job}
			wide.GPUs = width
			if got := s.offered(&wide); got != cmp.Or(most[:]...) {
				return fmt.Errorf("%d GPUs for task %q have %v, of %v; counted is %v", width, e.ID, cmp.Or(most[:]...), most, got)
			}
		}
	}
	return nil
}

// Forget lets a Scheduler forget kinds without tasks but for some, at least one, and says
// which of those that should have stayed or gone did not.
func (s *Scheduler) Forget(most int) error {
	idle := slices.DeleteFunc(slices.Clone(s.like), func(l likeness) bool { return l.tasks > 0 || l.task == nil })
	slices.SortFunc(idle, func(a, b likeness) int { return cmp.Compare(b.idle, a.idle) }) // the newest first
	s.forget(most)
	for k, l := range idle {
		if _, stays := s.kinds[l.task.Kind]; stays != (k < most) {
			return fmt.Errorf("of %d kinds without tasks the %d newest are to stay; number %d stays: %v", len(idle), most, k, stays)
		}
	}
	return nil
}
