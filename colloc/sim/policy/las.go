package policy

import (
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/place"
)

// LAS is two-dimensional least attained service in the manner of Tiresias (Gu et
// al., NSDI 2019): tasks are in queues by GPUs × time served, the first queue
// first, and within a queue in the order of arrival. Each runs on GPUs of its own
// and is preempted for one of an earlier queue. Tasks change queue at events and
// when their service reaches a limit.
type LAS struct {
	// Limits are the services at which tasks move down; nil means 3250 s and
	// 7200 s, those of the authors of Muri for this baseline.
	Limits []time.Duration
}

var _ sim.Policy = LAS{}

// Name implements [sim.Policy].
func (LAS) Name() string { return "las" }

// Begin implements [sim.Policy].
func (p LAS) Begin(*sim.State) (sim.Scheduler, error) {
	l := &las{limits: p.Limits}
	if l.limits == nil {
		l.limits = []time.Duration{3250 * time.Second, 7200 * time.Second}
	}
	l.Key = func(s *sim.State, t *sim.TaskView) time.Duration {
		return time.Duration(l.level(s.Attained(t)))
	}
	return l, nil
}

type las struct {
	place.Preemptive
	limits []time.Duration
}

// level is the queue of an attained service.
func (l *las) level(attained time.Duration) int {
	n := 0
	for n < len(l.limits) && attained >= l.limits[n] {
		n++
	}
	return n
}

// Decide implements [sim.Scheduler].
func (l *las) Decide(s *sim.State) error {
	if err := l.Preemptive.Decide(s); err != nil {
		return err
	}
	for t := range s.Running() {
		have := s.Attained(t)
		if n := l.level(have); n < len(l.limits) {
			left, width := l.limits[n]-have, time.Duration(max(1, t.GPUs))
			s.WakeAt(s.Now() + (left+width-1)/width)
		}
	}
	return nil
}
