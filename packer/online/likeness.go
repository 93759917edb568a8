package online

import (
	"slices"

	"example.com/colloc/packer"
)

// maxSets is how many sets are remembered, and maxSpare how many kinds without tasks.
const (
	maxSets  = 1 << 18
	maxSpare = 1 << 12
)

// kindOf is the number of a task's kind, which has it from now on.
func (s *Scheduler) kindOf(t *packer.Task) int32 {
	k, ok := s.kinds[t.Kind]
	if !ok || t.Kind == "" {
		k = int32(len(s.like))
		like := *t
		like.GPUs = 0 // a gang may share its GPUs with anybody
		s.like = append(s.like, likeness{task: &like})
		s.spare++
		if t.Kind != "" {
			s.kinds[t.Kind] = k
		}
	}
	if s.like[k].tasks++; s.like[k].tasks == 1 {
		s.spare--
	}
	return k
}

// resemble makes an entry the one that stands for its kind if another profile is known of it.
func (s *Scheduler) resemble(e *entry) {
	if like := &s.like[e.kind]; like.task.Profile != e.Profile {
		task := e.Task
		task.GPUs = 0
		like.task = &task
		s.ask()
	}
}

// disown takes an entry's leave from its kind.
func (s *Scheduler) disown(e *entry) {
	like := &s.like[e.kind]
	if like.tasks--; like.tasks > 0 {
		return
	}
	s.idles++
	s.spare++
	if like.idle = s.idles; e.Kind == "" {
		like.task = nil
	}
}

// tidy forgets what tasks that ended left behind, before it grows without end: of kinds without
// tasks it keeps the newest.
func (s *Scheduler) tidy() {
	if s.spare > maxSpare {
		s.forget(maxSpare / 2)
	}
	if s.sets.Len() > maxSets {
		s.ask()
	}
}

// forget keeps so many kinds without tasks, and numbers all anew, in their order, as on the GPUs.
func (s *Scheduler) forget(most int) {
	var idle []int64
	for k := range s.like {
		if l := &s.like[k]; l.tasks == 0 && l.task != nil {
			idle = append(idle, -l.idle)
		}
	}
	slices.Sort(idle)
	oldest := -s.idles - 1 // of those that stay, negated
	if len(idle) > 0 {
		oldest = idle[min(most, len(idle))-1]
	}
	to := make([]int32, len(s.like))
	kept := make([]likeness, 0, len(s.like)-s.spare+min(most, len(idle)))
	for k, l := range s.like {
		to[k] = int32(len(kept))
		switch {
		case l.task == nil:
		case l.tasks == 0 && -l.idle > oldest:
			delete(s.kinds, l.task.Kind)
		default:
			kept = append(kept, l)
		}
	}
	s.spare -= len(s.like) - len(kept)
	s.like = kept
	for _, e := range s.order {
		e.kind = to[e.kind]
	}
	for name, k := range s.kinds {
		s.kinds[name] = to[k]
	}
	s.ask()
}
