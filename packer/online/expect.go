package online

import (
	"time"

	"example.com/colloc/packer/internal/rollout"
)

// Expected is when a task starts and ends. Of one that runs Start is the time of the last Decide or
// Advance.
type Expected struct{ Start, End time.Duration }

// Expect plays what is known to its end once, by the rule that the last Decide found best, as if
// nothing else came and all that is left took so many times as long as is known or guessed. Tasks
// that never start, or are held, are missing. A factor that is not above 0 is taken for 1.
// O(tasks · (tasks + GPUs)) at worst.
func (s *Scheduler) Expect(factor float64) map[string]Expected {
	out := make(map[string]Expected, len(s.order))
	if len(s.order) == 0 {
		return out
	}
	s.fillEngine()
	if factor > 0 && factor != 1 {
		for i := range s.engine.Jobs {
			j := &s.engine.Jobs[i]
			j.Left = scaled(j.Left, factor)
			if j.Rank > 0 {
				j.Rank = scaled(j.Rank, factor)
			}
		}
		s.engine.Begin()
	}
	s.engine.Play(s.chosen())
	for i, e := range s.order {
		if began, ended, ok := s.engine.Span(int32(i)); ok {
			out[e.ID] = Expected{s.now + time.Duration(began)*time.Millisecond, s.now + time.Duration(ended)*time.Millisecond}
		}
	}
	return out
}

// scaled is so many times as much work, within what there can be.
func scaled(left int64, factor float64) int64 {
	return int64(max(1, min(float64(left)*factor, rollout.MaxLeft)))
}
