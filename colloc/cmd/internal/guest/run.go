package guest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
)

// Between two looks at the tasks: never shorter, and never so short that looking takes
// more than a tenth of the time.
const (
	shortest = 200 * time.Millisecond
	share    = 10
)

// Run tells what happens to the tasks until all are over, or, after [Queue.Drain], none
// runs: runner.ErrDrained. It lets those go that an earlier sweep held, and waits for a
// station that is started anew.
func (q *Queue) Run(ctx context.Context) error {
	if err := q.each("release", q.held()...); err != nil {
		return err
	}
	for _, r := range q.Records() {
		if r.State == runner.Running || r.State == runner.Starting {
			q.hooks.Event(runner.Event{Kind: runner.EventAdopted, At: time.Now(), Record: r, GPU: r.GPU, Text: fmt.Sprintf("%s runs on %s", r.Task.ID, r.On())})
		}
	}
	contact := &away{longest: q.absent, note: q.hooks.Note}
	for {
		began := time.Now()
		if err := contact.judge(q.look(ctx, q.hooks.Event)); err != nil {
			return err
		}
		if !contact.now() {
			if draining := q.hold(ctx); q.finished(draining) {
				if draining && len(q.in(runner.Queued)) > 0 {
					return runner.ErrDrained
				}
				return nil
			}
		}
		timer := time.NewTimer(max(shortest, share*time.Since(began)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// finished reports whether all tasks are over, or none runs and those that wait are held.
func (q *Queue) finished(draining bool) bool {
	if len(q.in(runner.Starting, runner.Running)) > 0 {
		return false
	}
	waiting := len(q.in(runner.Queued))
	return waiting == 0 || draining && len(q.held()) == waiting
}

// Drain holds the tasks that wait: none starts any more. [Queue.Run] ends when none runs,
// and holds what could not be held at once.
func (q *Queue) Drain() {
	q.mu.Lock()
	q.draining = true
	q.mu.Unlock()
	_ = q.each("hold", q.in(runner.Queued)...) // Run tries again
}

// loose are the tasks that wait and are not held.
func (q *Queue) loose() (names []string) {
	for _, name := range q.in(runner.Queued) {
		if !q.job(name).Held {
			names = append(names, name)
		}
	}
	return names
}

// hold holds the tasks that still wait, if the queue drains, which it reports.
func (q *Queue) hold(ctx context.Context) (draining bool) {
	q.mu.Lock()
	draining = q.draining
	q.mu.Unlock()
	loose := q.loose()
	if !draining || len(loose) == 0 {
		return draining
	}
	err := errors.Join(q.each("hold", loose...), q.look(ctx, q.hooks.Event))
	if left := len(q.loose()); err != nil && left > 0 && !q.told {
		q.told = true
		q.hooks.Note(fmt.Sprintf("%d of the tasks that wait could not be held, and will start: %v", left, err))
	}
	return true
}

// each does one thing to tasks all at once or, where one that is over keeps the station from that, to each by itself.
func (q *Queue) each(verb string, names ...string) error {
	over := &api.Error{Code: api.Conflict}
	err := q.do(verb, names...)
	if !errors.Is(err, over) {
		return err
	}
	for _, name := range names {
		if err := q.do(verb, name); err != nil && !errors.Is(err, over) {
			return err // the others would have the same trouble
		}
	}
	return nil
}

// away is how long a station has not answered.
type away struct {
	longest time.Duration
	note    func(string)
	since   time.Time // zero while it answers
}

// now reports whether the station does not answer.
func (a *away) now() bool { return !a.since.IsZero() }

// judge is the error of a look that ends the sweep: not that nobody listens, for a while.
func (a *away) judge(err error) error {
	switch {
	case err == nil && a.now():
		a.note("the station answers again")
		a.since = time.Time{}
	case !errors.Is(err, &api.Error{Code: api.Unavailable}):
		return err
	case !a.now():
		a.since = time.Now()
		a.note(fmt.Sprintf("%v; the tasks are its own, and the sweep waits %v for it", err, a.longest))
	case time.Since(a.since) > a.longest:
		return err
	}
	return nil
}
