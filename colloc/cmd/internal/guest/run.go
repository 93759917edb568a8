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
	if err := q.letGo(ctx); err != nil {
		return err
	}
	for _, r := range q.Records() {
		if r.State == runner.Running || r.State == runner.Starting {
			q.hooks.Event(runner.Event{Kind: runner.EventAdopted, At: time.Now(), Record: r, GPU: r.GPU, Text: fmt.Sprintf("%s runs on %s", r.Task.ID, r.On())})
		}
	}
	contact, hold := &away{longest: q.absent, note: q.hooks.Note}, &holder{q: q}
	for {
		began := time.Now()
		if err := contact.judge(q.look(ctx, q.hooks.Event)); err != nil {
			return err
		}
		if !contact.now() {
			if draining := hold.again(ctx); q.finished(draining) {
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
	_ = q.do("hold", q.in(runner.Queued)...) // all or none: Run looks, and tries again
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

// holder holds what [Queue.Drain] could not.
type holder struct {
	q     *Queue
	tries int
}

// maxTries is how often all are held together: one that ends meanwhile keeps the station
// from holding any of them.
const maxTries = 5

// again holds the tasks that still wait, if the queue drains, which it reports.
func (h *holder) again(ctx context.Context) bool {
	q := h.q
	q.mu.Lock()
	draining := q.draining
	q.mu.Unlock()
	if !draining || h.tries > maxTries {
		return draining
	}
	for loose := q.loose(); len(loose) > 0; loose = q.loose() {
		h.tries++
		failed := q.holdSome(loose, h.tries <= maxTries)
		if err := q.look(ctx, q.hooks.Event); err != nil {
			failed = errors.Join(failed, err)
		}
		if h.tries > maxTries {
			if left := len(q.loose()); left > 0 {
				q.hooks.Note(fmt.Sprintf("%d of the tasks that wait could not be held, and will start: %v", left, failed))
			}
			return true
		}
	}
	h.tries = 0
	return true
}

// letGo releases what is held. One that ends meanwhile keeps the station from releasing any
// of them: then it looks again.
func (q *Queue) letGo(ctx context.Context) error {
	for tries := 1; ; tries++ {
		err := q.do("release", q.held()...)
		if !errors.Is(err, &api.Error{Code: api.Conflict}) || tries > maxTries {
			return err
		}
		if err := q.look(ctx, q.hooks.Event); err != nil {
			return err
		}
	}
}

// holdSome holds tasks all at once, or each by itself. One that is over needs no hold.
func (q *Queue) holdSome(names []string, together bool) error {
	if together {
		return q.do("hold", names...)
	}
	for _, name := range names {
		if err := q.do("hold", name); err != nil && !errors.Is(err, &api.Error{Code: api.Conflict}) {
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
