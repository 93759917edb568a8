package policy

import (
	"cmp"
	"slices"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/place"
)

// LAS is two-dimensional least attained service as Tiresias does it (Gu et al.,
// NSDI 2019): tasks are in queues by GPUs × time served, the first queue first.
// Each runs on GPUs of its own and is preempted for one of an earlier queue. Tasks
// change queue at events and when their service reaches a limit. Within a queue
// they are in the order in which they entered it, and after each decision those
// that run stand before those that wait, so that a task is never preempted for one
// that merely arrived before it.
// Ordering each queue by arrival instead, as many reimplementations do, makes mean
// completion times on Muri's traces 34 to 83 % longer.
type LAS struct{}

var _ sim.Policy = LAS{}

// Name implements [sim.Policy].
func (LAS) Name() string { return "las" }

// Begin implements [sim.Policy].
func (LAS) Begin(*sim.State) (sim.Scheduler, error) {
	l := &las{in: map[*sim.TaskView]entry{}}
	l.Key = func(_ *sim.State, t *sim.TaskView) time.Duration {
		e := l.in[t]
		return time.Duration(e.queue)<<48 + time.Duration(e.turn)
	}
	return l, nil
}

type las struct {
	place.Preemptive
	in    map[*sim.TaskView]entry
	turns int
	order []*sim.TaskView
}

// entry is a task's queue and when it entered, among all entries.
type entry struct{ queue, turn int }

// lasLimits are the services at which tasks move down: those of the authors of Muri for this baseline.
//
//nolint:gochecknoglobals // read-only
var lasLimits = [...]time.Duration{3250 * time.Second, 7200 * time.Second}

// level is the queue of an attained service.
func level(attained time.Duration) int {
	n := 0
	for n < len(lasLimits) && attained >= lasLimits[n] {
		n++
	}
	return n
}

// Decide implements [sim.Scheduler].
func (l *las) Decide(s *sim.State) error {
	for _, t := range s.Ended() {
		delete(l.in, t)
	}
	l.order = l.order[:0]
	for t := range s.Running() {
		l.order = append(l.order, t)
	}
	l.order = append(l.order, s.Arrived()...)
	slices.SortFunc(l.order, func(a, b *sim.TaskView) int { return cmp.Compare(a.Index, b.Index) })
	for _, t := range l.order {
		queue := level(s.Attained(t))
		if e, ok := l.in[t]; !ok || e.queue != queue {
			l.enter(t, queue)
		}
	}
	if err := l.Preemptive.Decide(s); err != nil {
		return err
	}
	l.yield(s)
	for t := range s.Running() {
		have := s.Attained(t)
		if n := level(have); n < len(lasLimits) {
			left, width := lasLimits[n]-have, time.Duration(max(1, t.GPUs))
			s.WakeAt(s.Now() + (left+width-1)/width)
		}
	}
	return nil
}

// enter puts a task at the end of a queue.
func (l *las) enter(t *sim.TaskView, queue int) {
	l.turns++
	l.in[t] = entry{queue, l.turns}
}

// yield puts the tasks that wait behind those that run, in their order.
func (l *las) yield(s *sim.State) {
	l.order = l.order[:0]
	for t := range s.Waiting() {
		if !t.HostOnly {
			l.order = append(l.order, t)
		}
	}
	slices.SortFunc(l.order, func(a, b *sim.TaskView) int { return cmp.Compare(l.in[a].turn, l.in[b].turn) })
	for _, t := range l.order {
		l.enter(t, l.in[t].queue)
	}
}
