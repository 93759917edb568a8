package guest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/nvmlx"
	"example.com/colloc/predict"
)

// Between two looks at the tasks: never shorter, and never so short that looking takes
// more than a tenth of the time.
const (
	shortest = 200 * time.Millisecond
	share    = 10
)

// Run tells what happens to the tasks until all are over, or, after [Queue.Drain], none
// runs: runner.ErrDrained. It lets those go that an earlier sweep held.
func (q *Queue) Run(ctx context.Context) error {
	if err := q.do("release", q.held()...); err != nil {
		return err
	}
	for _, r := range q.Records() {
		if r.State == runner.Running || r.State == runner.Starting {
			q.onEvent(runner.Event{Kind: runner.EventAdopted, At: time.Now(), Record: r, GPU: r.GPU, Text: fmt.Sprintf("%s runs on %s", r.Task.ID, r.On())})
		}
	}
	for {
		began := time.Now()
		if err := q.look(ctx, q.onEvent); err != nil {
			return err
		}
		q.mu.Lock()
		draining := q.draining
		q.mu.Unlock()
		switch running, waiting := q.in(runner.Starting, runner.Running), q.in(runner.Queued); {
		case len(running)+len(waiting) == 0:
			return nil
		case draining && len(running) == 0 && len(q.held()) == len(waiting):
			return runner.ErrDrained
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

// held are the tasks that wait to be released.
func (q *Queue) held() (names []string) {
	for _, name := range q.in(runner.Queued) {
		if q.job(name).Held {
			names = append(names, name)
		}
	}
	return names
}

// look asks for all tasks that are not over, and for the GPUs, and tells what happened.
func (q *Queue) look(ctx context.Context, tell func(runner.Event)) error {
	q.mu.Lock()
	names := make(map[string]string) // by number
	var ids []string
	for _, name := range q.names {
		if j, ok := q.jobs[name]; !ok || !j.State.Over() {
			ids = append(ids, q.numbers[name])
			names[q.numbers[name]] = name
		}
	}
	q.mu.Unlock()
	state, err := q.client.State(ctx)
	if err != nil {
		return err
	}
	jobs, err := q.client.Look(ctx, ids...)
	if errors.Is(err, &api.Error{Code: api.NotFound}) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	if err != nil {
		return err
	}
	var events []runner.Event
	q.mu.Lock()
	q.gpus = state.GPUs
	for i := range jobs {
		name := names[jobs[i].ID]
		old := q.jobs[name]
		q.jobs[name] = jobs[i]
		events = append(events, q.happened(name, &old, &jobs[i], state.At)...)
	}
	q.mu.Unlock()
	slices.SortStableFunc(events, func(a, b runner.Event) int { return a.At.Compare(b.At) })
	for _, e := range events {
		tell(e)
	}
	return nil
}

// happened is what makes a job what it is now out of what it was.
func (q *Queue) happened(name string, old, now *api.Job, at time.Time) (events []runner.Event) {
	r := q.record(name, now)
	add := func(kind runner.EventKind, at time.Time, text string) {
		events = append(events, runner.Event{Kind: kind, At: at, Record: r, GPU: r.GPU, Text: text})
	}
	again := now.Runs > max(1, old.Runs) || old.State == runner.Running && now.State == runner.Queued
	if again && old.ID != "" {
		kind := runner.EventRetry
		if now.OutOfMemory > old.OutOfMemory {
			kind = runner.EventRecovering
		}
		add(kind, at, fmt.Sprintf("%s runs again: %s", name, cmp.Or(now.Err, "its last run did not succeed")))
	}
	if !now.Started.IsZero() && !now.Started.Equal(old.Started) {
		add(runner.EventStarted, now.Started, "")
	}
	if now.State.Over() && !old.State.Over() {
		add(runner.EventFinished, now.Ended, "")
	}
	return events
}

// record is a job as a queue of one's own would show it.
func (q *Queue) record(name string, j *api.Job) runner.Record {
	r := runner.Record{
		Task: runner.Task{ID: name, Command: j.Command, Kind: j.Kind, Held: j.Held, GPUs: j.Width}, Number: number(j.ID), State: j.State, Waiting: j.Why,
		Runs: j.Runs, Submitted: j.Submitted, Started: j.Started, Ended: j.Ended, Mechanism: j.Mechanism, Reserved: j.Reserved,
		Speed: j.Speed, Peak: j.Peak, Step: j.Step, Total: j.Total, Exit: j.Exit.Or(-1), Signal: j.Signal, Err: j.Err, Log: j.Log,
	}
	if j.Held && j.State == runner.Queued && r.Waiting == "" {
		r.Waiting = "it is held"
	}
	if v, ok := j.Predicted.Get(); ok {
		r.Predicted = predict.Estimate{Value: v, Lo: 0, Hi: max(1, v), Confidence: 1}
	}
	var on []nvmlx.DeviceID
	for _, index := range j.GPUs {
		if index >= 0 && index < len(q.gpus) {
			on = append(on, q.gpus[index].ID)
		}
	}
	if len(on) > 0 {
		r.GPU = on[0]
	}
	if len(on) > 1 {
		r.GPUs = on
	}
	return r
}
