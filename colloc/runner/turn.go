package runner

import (
	"slices"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/body"
	"example.com/colloc/nvmlx"
)

// Turns decides who is next, where priority and submission are not enough: fair shares,
// quotas, GPUs that are reserved for somebody. Its methods are called while the Runner
// is locked: they must return soon and must not call it.
type Turns interface {
	// Order returns the indices of those of the ready tasks that may be tried now, the
	// first first. ready are in the order of priority, then of submission, active hold
	// GPUs. The records must be read only, and not kept.
	Order(ready, active []*Record) []int
	// Allow is asked just before a task is placed: why says what must happen first,
	// empty lets it start, but on none of the GPUs in avoid.
	Allow(r *Record) (avoid []nvmlx.DeviceID, why string)
	// Placed tells that the task is about to start on its Devices.
	Placed(r *Record)
}

// turn returns the tasks to try, in order, and how many of them at once: where the order is not
// that of submission nobody must pass, and there are not more than there is room for.
func (r *Runner) turn() (tries []*backlog.Entry, most int) {
	turns, ready := r.config.Turns, r.queue.Ready
	if turns == nil {
		return slices.Clone(ready), len(ready)
	}
	order := turns.Order(records(ready), records(r.queue.Active))
	seen := make([]bool, len(ready))
	for _, i := range order {
		if i >= 0 && i < len(seen) && !seen[i] {
			seen[i] = true
			tries = append(tries, ready[i])
		}
	}
	if slices.Equal(tries, ready) {
		return tries, len(tries)
	}
	for _, c := range r.fleet.Cards {
		if r.fleet.Takes(c) {
			most += r.fleet.Seats(c)
		}
	}
	return tries, most
}

// mayStart says why a task must not start where it is to: what starts with it was not there when
// it was asked before.
func (r *Runner) mayStart(s *body.Start) string {
	if r.config.Turns == nil {
		return ""
	}
	closed, why := r.config.Turns.Allow(&s.Record)
	for _, c := range s.Cards {
		if why == "" && slices.Contains(closed, c.Info.ID) {
			why = "GPU " + string(c.Info.ID) + " is closed to it"
		}
	}
	return why
}

// records are those of entries, not copied.
func records(entries []*backlog.Entry) []*Record {
	all := make([]*Record, len(entries))
	for i, e := range entries {
		all[i] = &e.Record
	}
	return all
}

// Hold keeps tasks from starting until Release: also one that runs, should it be queued
// again. No IDs means all; ErrUnknown changes nothing. O(tasks).
func (r *Runner) Hold(ids ...string) error { return r.hold(true, ids) }

// Release takes Hold back, and [Task].Held.
func (r *Runner) Release(ids ...string) error { return r.hold(false, ids) }

func (r *Runner) hold(held bool, ids []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, err := r.find(ids)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.State.Over() || e.Task.Held == held {
			continue
		}
		e.Task.Held, e.Waiting = held, ""
		if e.State == Queued {
			r.queue.Leave(e)
			r.queue.Wait(e)
		}
		r.tell(EventProgress, e, "")
	}
	defer r.poke()
	return r.commit()
}
