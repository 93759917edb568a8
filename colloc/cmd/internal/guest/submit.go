package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/profile"
)

// Open returns the queue of a sweep whose tasks at the station are known, none at first.
// Those that were being handed over are looked for.
func Open(ctx context.Context, client *api.Client, tasks Tasks, hooks Hooks) (*Queue, error) {
	q := &Queue{client: client, hooks: hooks, absent: absence, numbers: make(map[string]string), jobs: make(map[string]api.Job), before: make(map[string]int)}
	maps.Copy(q.numbers, tasks.Numbers)
	if q.pending = tasks.Pending; q.pending != nil {
		if _, err := q.settle(ctx); err != nil {
			return nil, err
		}
	}
	q.names = slices.SortedFunc(maps.Keys(q.numbers), func(a, b string) int { return number(q.numbers[a]) - number(q.numbers[b]) })
	state, err := client.State(ctx)
	if err != nil {
		return nil, err
	}
	q.gpus = state.GPUs
	if len(q.names) == 0 {
		return q, nil
	}
	return q, q.look(ctx, func(runner.Event) {}) // what happened before is no news
}

// Submit queues tasks, all or none.
func (q *Queue) Submit(tasks ...runner.Task) ([]string, error) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	parts, err := q.parts(tasks)
	var all []string
	for i := 0; err == nil && i < len(parts); i++ {
		var ids []string
		ids, err = q.submit(ctx, parts[i])
		all = append(all, ids...)
	}
	if err != nil {
		return nil, errors.Join(err, q.takeBack(all))
	}
	return all, nil
}

// largest is how much of a request tasks fill.
const largest = api.MaxBody / 2

// parts are tasks that fit into one request each.
func (q *Queue) parts(tasks []runner.Task) (parts [][]runner.Task, err error) {
	first, size := 0, profile.Bytes(0)
	for i := range tasks {
		alone := tasks[i]
		alone.After = nil
		sent, err := q.task(&alone, nil)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(sent)
		if err != nil {
			return nil, err
		}
		const each = 64 // of what it waits for
		n := profile.Bytes(len(text) + each*len(tasks[i].After))
		if i > first && (i-first == api.MaxTasks || size+n > largest) {
			parts = append(parts, tasks[first:i])
			first, size = i, 0
		}
		size += n
	}
	return append(parts, tasks[first:]), nil
}

// submit queues what fits into one request. What is about to be sent is kept first, so that
// whoever goes on after a kill finds it.
func (q *Queue) submit(ctx context.Context, tasks []runner.Task) ([]string, error) {
	here, names := make(map[string]string, len(tasks)), make([]string, len(tasks))
	for i := range tasks {
		names[i] = tasks[i].ID
		here[names[i]] = fmt.Sprintf("#%d", i+1)
	}
	sent := make([]api.Task, len(tasks))
	for i := range tasks {
		t, err := q.task(&tasks[i], here)
		if err != nil {
			return nil, err
		}
		sent[i] = t
	}
	if err := q.announce(ctx, names); err != nil {
		return nil, err
	}
	ids, err := q.client.Submit(ctx, sent...)
	if errors.Is(err, &api.Error{Code: api.Forbidden}) && !q.common && lower(sent) {
		q.common = true
		q.hooks.Note("tasks of a priority above 0 would come before all others' jobs, which this station lets you not ask for: they wait in class normal")
		ids, err = q.client.Submit(ctx, sent...)
	}
	if err == nil {
		return ids, q.accept(names, ids)
	}
	if answer := new(api.Error); errors.As(err, &answer) && answer.Code != api.Unavailable && answer.Code != api.Failed {
		return nil, errors.Join(err, q.accept(nil, nil))
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	ids, unknown := q.settle(ctx) // it may have come in, and the answer was lost
	return ids, errors.Join(err, unknown)
}

// lower makes tasks of class high normal ones, if there are any.
func lower(tasks []api.Task) (some bool) {
	for i := range tasks {
		if tasks[i].Class == class(1) {
			tasks[i].Class, some = class(0), true
		}
	}
	return some
}

// announce keeps what is about to be handed over.
func (q *Queue) announce(ctx context.Context, names []string) error {
	jobs, err := q.client.Jobs(ctx, api.Query{Ended: 1})
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	pending := &Pending{Names: names, Dir: dir}
	for i := range jobs {
		pending.Since = max(pending.Since, number(jobs[i].ID))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending = pending
	return q.kept()
}

// kept tells what is known of the tasks; mu is held.
func (q *Queue) kept() error { return q.hooks.Keep(Tasks{maps.Clone(q.numbers), q.pending}) }

// accept notes the numbers of tasks that the station has.
func (q *Queue) accept(names, ids []string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending = nil
	for i, id := range ids {
		q.numbers[names[i]] = id
		q.names = append(q.names, names[i])
		q.jobs[names[i]] = api.Job{ID: id, Name: names[i], Width: 1} // until somebody looks
	}
	return q.kept()
}

// settle finds out whether the station has the tasks that were being handed over: jobs in a
// row of their names and folder that nobody knew before. It returns their numbers.
func (q *Queue) settle(ctx context.Context) ([]string, error) {
	q.mu.Lock()
	p := *q.pending
	taken := make(map[string]bool)
	for _, id := range q.numbers {
		taken[id] = true
	}
	q.mu.Unlock()
	jobs, err := q.client.Jobs(ctx, api.Query{Ended: -1})
	if err != nil {
		return nil, err
	}
	jobs = slices.DeleteFunc(jobs, func(j api.Job) bool { return j.Dir != p.Dir || number(j.ID) <= p.Since || taken[j.ID] })
	slices.SortFunc(jobs, func(a, b api.Job) int { return number(a.ID) - number(b.ID) })
	for first := 0; first+len(p.Names) <= len(jobs); first++ {
		ids, same := make([]string, 0, len(p.Names)), true
		for i, name := range p.Names {
			j := &jobs[first+i]
			same = same && j.Name == name && number(j.ID) == number(jobs[first].ID)+i
			ids = append(ids, j.ID)
		}
		if same {
			return ids, q.accept(p.Names, ids)
		}
	}
	return nil, q.accept(nil, nil)
}

// takeBack cancels jobs of a sweep that does not come to be, and forgets them.
func (q *Queue) takeBack(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err := q.client.Do(ctx, "cancel", ids...); err != nil {
		return fmt.Errorf("the %d tasks that the station has already go on: %w", len(ids), err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.names = slices.DeleteFunc(q.names, func(name string) bool { return slices.Contains(ids, q.numbers[name]) })
	maps.DeleteFunc(q.numbers, func(_, id string) bool { return slices.Contains(ids, id) })
	maps.DeleteFunc(q.jobs, func(_ string, j api.Job) bool { return slices.Contains(ids, j.ID) })
	return q.kept()
}

// task is a task as the station takes it; here are those of the same request.
func (q *Queue) task(t *runner.Task, here map[string]string) (api.Task, error) {
	s := api.Task{
		Name: t.ID, Kind: t.Kind, Command: t.Command, Shell: t.Shell, GPUs: t.GPUs, Memory: t.Memory, Alone: t.Alone,
		Time: api.Duration(t.Timeout), Retries: t.Retries, Progress: t.Progress, Class: class(t.Priority),
	}
	if cost, ok := t.Restart.Get(); ok {
		s.Restart = profile.Some(api.Duration(cost))
	}
	if err := Here(&s); err != nil {
		return s, err
	}
	s.Env = append(s.Env, t.Env...)
	if s.Kind == "" {
		s.Kind = KindOf(t.Command, s.Dir, t.Shell)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range t.After {
		id, ok := here[d.Task]
		if !ok {
			if id, ok = q.numbers[d.Task]; !ok {
				return s, fmt.Errorf("task %s waits for %s, which is not in the queue", t.ID, d.Task)
			}
		}
		s.After = append(s.After, runner.Dependency{Task: id, Any: d.Any})
	}
	return s, nil
}
