package runner

import (
	"slices"
	"strings"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/fleet"
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

// turn returns the tasks to try, in order.
func (r *Runner) turn() []*backlog.Entry {
	turns := r.config.Turns
	if turns == nil {
		return slices.Clone(r.queue.Ready)
	}
	order := turns.Order(records(r.queue.Ready), records(r.queue.Active))
	tries, seen := make([]*backlog.Entry, 0, len(order)), make([]bool, len(r.queue.Ready))
	for _, i := range order {
		if i >= 0 && i < len(seen) && !seen[i] {
			seen[i] = true
			tries = append(tries, r.queue.Ready[i])
		}
	}
	return tries
}

// records are those of entries, not copied.
func records(entries []*backlog.Entry) []*Record {
	all := make([]*Record, len(entries))
	for i, e := range entries {
		all[i] = &e.Record
	}
	return all
}

// barred is what a task must not get, for the next one like it as well.
type barred struct {
	class fleet.Class
	gpus  string
}

// allowed asks whether a task may start now; why says why not. barred are the cards
// that it must not get.
func (r *Runner) allowed(e *backlog.Entry) (key barred, cards []int, why string) {
	key = barred{class: fleet.ClassOf(e)}
	if r.config.Turns == nil {
		return key, nil, ""
	}
	avoid, why := r.config.Turns.Allow(&e.Record)
	var names strings.Builder
	for i, c := range r.fleet.Cards {
		if slices.Contains(avoid, c.Info.ID) {
			cards = append(cards, i)
			names.WriteString(string(c.Info.ID) + ",")
		}
	}
	key.gpus = names.String()
	return key, cards, why
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
