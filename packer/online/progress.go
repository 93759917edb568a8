package online

import (
	"time"

	"example.com/colloc/packer/internal/rollout"
)

// settle brings up to now how far a task is. Until somebody asks, nothing is worked out.
func (s *Scheduler) settle(e *entry) {
	d := int64((s.now - e.asOf) / time.Millisecond)
	e.work(d)
	e.waited = s.waited(e)
	e.asOf = s.now
}

// waited is for how many milliseconds a task has waited, in all.
func (s *Scheduler) waited(e *entry) int64 {
	if len(e.on) > 0 || e.held {
		return e.waited
	}
	more := int64((s.now - max(e.asOf, e.Came.Or(0))) / time.Millisecond)
	return e.waited + min(max(0, more), rollout.MaxLeft-e.waited)
}

// settleRuns settles what runs, or did a moment ago, and reports whether it is told of all how long they run.
func (s *Scheduler) settleRuns() (told bool) {
	told = true
	for _, e := range s.order {
		told = told && e.known
		if len(e.on) > 0 || e.rate > 0 {
			s.settle(e)
		}
	}
	return told
}

// tell notes what is left of a task: at the next Advance, or now after one.
func (s *Scheduler) tell(e *entry, left time.Duration) {
	s.settle(e)
	e.left, e.known = steps(left), true
	if !s.dated && !e.told {
		e.told = true
		s.told = append(s.told, e)
	}
}

// work lets a task run for so many milliseconds.
func (e *entry) work(d int64) {
	if e.rate <= 0 || d <= 0 {
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
