package runner

import (
	"fmt"
	"slices"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
)

// History gives the records that [Config].Keep moved out of memory to each, the last submitted
// first, until that returns false: those whose Number is below before, or all if that is 0. It reads some 500 at a time and holds nothing while each
// runs, which may ask the Runner. Tasks may be moved meanwhile: one that comes back by Retry
// is in Records again. O(records given).
func (r *Runner) History(before int, each func(Record) bool) error {
	if err := r.store.History(before, each); err != nil {
		return fmt.Errorf("runner: history: %w", err)
	}
	return nil
}

// At each look a bounded number of tasks moves to the history, and none before there are some.
const (
	fewestOld = 16
	mostOld   = 500
)

// archive moves the oldest tasks that are over to the history. What is not written yet stays.
func (r *Runner) archive() {
	if r.config.Keep <= 0 || r.stuck != nil || r.queue.Over() < r.config.Keep+fewestOld {
		return
	}
	old := r.queue.Old(r.config.Keep, mostOld)
	if len(old) == 0 {
		return
	}
	for _, e := range old { // before: who is killed in between looks at them again
		for run := 1; run <= e.Runs; run++ {
			supervise.Forget(r.stemOf(e, run))
		}
	}
	if err := r.store.Archive(old, r.queue.Last); err != nil {
		r.warn("history", nil, r.config.Noun+"s that are over stay in memory: the history cannot be written: "+err.Error())
		return
	}
	r.queue.Remove(old)
}

// recall takes tasks back from the history, in one transaction; those that are not there
// either stay unknown.
func (r *Runner) recall(ids ...string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return r.queue.ByID[id] != nil })
	if len(ids) == 0 || r.closed || len(r.store.Past.Ended) == 0 {
		return nil
	}
	entries, err := r.store.Recall(ids...)
	if err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	for _, e := range entries {
		r.queue.Restore(e)
	}
	return nil
}

// dependencies are the IDs that tasks name.
func dependencies(entries []*backlog.Entry) (ids []string) {
	for _, e := range entries {
		for _, d := range e.Task.After {
			ids = append(ids, d.Task)
		}
	}
	return ids
}

// past reports whether the history has a task of that ID.
func (r *Runner) past(id string) bool {
	return len(r.store.Past.Ended) > 0 && r.store.Has(id)
}
