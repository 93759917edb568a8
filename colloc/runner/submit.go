package runner

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/progress"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/profile"
)

// Submit adds tasks to the queue, all or none; when it returns they are
// recorded. It may be called at any time, also while Run runs. It returns their
// IDs, in order, or one error with every fault.
func (r *Runner) Submit(tasks ...Task) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fmt.Errorf("runner: %w", ErrClosed)
	}
	if err := r.commit(); err != nil { // of what could not be written before
		return nil, err
	}
	entries, err := r.admit(tasks)
	if err != nil {
		return nil, fmt.Errorf("runner: submit: %w", err)
	}
	r.takeAllLeft(entries)
	// Recorded first: until then nobody may see them.
	if err := r.store.Put(entries); err != nil {
		return nil, fmt.Errorf("runner: submit: queue file: %w", err)
	}
	ids := make([]string, len(entries))
	r.pending = slices.Grow(r.pending, len(entries))
	for i, e := range entries {
		ids[i] = e.Task.ID
		r.pending = append(r.pending, Event{Kind: EventQueued, At: e.Submitted, Record: e.Record, Text: r.name(e) + " is queued"})
	}
	r.hopeless(r.queue.Add(entries))
	err = r.commit()
	r.poke()
	return ids, err
}

// admit checks tasks and makes entries of them.
func (r *Runner) admit(tasks []Task) ([]*backlog.Entry, error) {
	var errs []error
	taken := make(map[string]bool, len(tasks))
	for i := range tasks {
		if id := tasks[i].ID; id != "" {
			if taken[id] || r.queue.ByID[id] != nil || r.past(id) {
				errs = append(errs, fmt.Errorf("%w: %q", ErrDuplicate, id))
			}
			taken[id] = true
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	entries := make([]*backlog.Entry, len(tasks))
	for i := range tasks {
		e := &backlog.Entry{Profile: tasks[i].Profile, Saved: backlog.Saved{Record: Record{Task: tasks[i], Number: r.queue.Last + i + 1, Submitted: r.now()}}}
		e.Env, e.Task.Env = e.Task.Env, nil
		e.Task.MaxSlowdown = min(e.Task.MaxSlowdown, math.MaxFloat64) // JSON knows no infinity
		if e.Task.ID == "" {
			for n := e.Number; e.Task.ID == "" || r.past(e.Task.ID); n++ {
				e.Task.ID = r.queue.FreeID(n, taken)
			}
			taken[e.Task.ID] = true
		}
		if !filepath.IsAbs(e.Task.Dir) {
			e.Task.Dir = filepath.Join(here, e.Task.Dir)
		}
		entries[i] = e
	}
	if err := r.recall(dependencies(entries)...); err != nil {
		return nil, err
	}
	most := r.fleet.Largest()
	for i, e := range entries {
		if err := r.checkTask(&tasks[i], taken, most); err != nil {
			errs = append(errs, fmt.Errorf("task %q: %w", e.Task.ID, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return entries, cyclic(entries)
}

// checkTask reports every fault of a task; most is what the largest GPU offers, 0 without GPUs.
func (r *Runner) checkTask(t *Task, taken map[string]bool, most profile.Bytes) error {
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, want %s", field, value, want))
		}
	}
	check(len(t.Command) > 0 && t.Command[0] != "", "Command", "empty", "a program")
	check(!slices.ContainsFunc(t.Command, func(s string) bool { return strings.ContainsRune(s, 0) }), "Command", "with a zero byte", "none")
	for _, v := range t.Env {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" || strings.ContainsRune(v, 0) {
			check(false, "Env", fmt.Sprintf("%q...", name), "KEY=value") // the value may be a secret
		}
	}
	check(t.Memory >= 0, "Memory", int64(t.Memory), "0 bytes or more")
	if most > 0 { // without GPUs it waits until they are there
		check(t.Memory <= most, "Memory", t.Memory, fmt.Sprintf("at most the %v that the largest GPU offers", most))
	}
	check(t.MaxSlowdown == 0 || t.MaxSlowdown >= 1, "MaxSlowdown", t.MaxSlowdown, "0 for the default or at least 1")
	check(t.GPUs >= 0 && t.GPUs <= len(r.fleet.Cards), "GPUs", t.GPUs, fmt.Sprintf("0 for one, or up to the %d that there are", len(r.fleet.Cards)))
	check(t.CPUs >= 0, "CPUs", t.CPUs, "0 for a share or more")
	check(t.Retries >= 0, "Retries", t.Retries, "0 or more")
	check(t.Restart.Or(0) >= 0, "Restart", t.Restart.Or(0), "0 or more, or missing for never")
	check(t.Timeout >= 0, "Timeout", t.Timeout, "0 for none or more")
	check(t.Progress.Total >= 0, "Progress.Total", t.Progress.Total, "0 or more")
	if o := t.Owner; o != nil {
		check(os.Geteuid() == 0 || int(o.UID) == os.Geteuid(), "Owner", fmt.Sprintf("the user %d", o.UID), "this user, or a runner that is root")
		check(o.Umask.Or(0) <= 0o777, "Owner.Umask", o.Umask.Or(0), "0 to 0777")
		for name, limit := range o.Limits {
			if err := supervise.CheckLimit(name, limit.Soft, limit.Hard); err != nil {
				errs = append(errs, fmt.Errorf("Owner.Limits: %w", err))
			}
		}
	}
	if err := progress.Check(t.Progress.Pattern); err != nil {
		errs = append(errs, fmt.Errorf("Progress.Pattern: %w", err))
	}
	for i, d := range t.After {
		check(r.queue.ByID[d.Task] != nil || taken[d.Task], "After", fmt.Sprintf("%q", d.Task), "a task in the queue or of the same call")
		twice := slices.ContainsFunc(t.After[:i], func(o Dependency) bool { return o.Task == d.Task })
		check(!twice, "After", fmt.Sprintf("%q twice", d.Task), "each task once")
	}
	return errors.Join(errs...)
}

// cyclic is an error if tasks that are new wait for each other.
func cyclic(entries []*backlog.Entry) error {
	byID := make(map[string]*backlog.Entry, len(entries))
	for _, e := range entries {
		byID[e.Task.ID] = e
	}
	const onPath, checked = 1, 2
	state := make(map[*backlog.Entry]int, len(entries))
	var visit func(e *backlog.Entry) error
	visit = func(e *backlog.Entry) error {
		state[e] = onPath
		for _, d := range e.Task.After {
			other := byID[d.Task]
			if other == nil || state[other] == checked {
				continue
			}
			if state[other] == onPath {
				return fmt.Errorf("task %q: After: it waits for itself, by way of %q", e.Task.ID, d.Task)
			}
			if err := visit(other); err != nil {
				return err
			}
		}
		state[e] = checked
		return nil
	}
	for _, e := range entries {
		if state[e] == 0 {
			if err := visit(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// pattern finds a task's steps. It was compiled before, to check it, and is not kept: of many
// tasks few run.
func pattern(e *backlog.Entry) *progress.Pattern {
	p, err := progress.Compile(e.Task.Progress.Pattern)
	if err != nil {
		return nil // of an earlier version, which took larger ones
	}
	return p
}
