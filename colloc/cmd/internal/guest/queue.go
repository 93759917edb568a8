package guest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Queue is the part of a station's queue that holds the tasks of one sweep, under the
// names that they have there. It is safe for concurrent use.
type Queue struct {
	client  *api.Client
	onEvent func(runner.Event)
	keep    func(ids map[string]string) error

	mu       sync.Mutex // guards what follows
	numbers  map[string]string
	names    []string // in the order of submission
	jobs     map[string]api.Job
	gpus     []api.GPU
	draining bool
}

// patience is how long the station may take to answer.
const patience = time.Minute

// Between two looks at the tasks: never shorter, and never so short that looking takes
// more than a tenth of the time.
const (
	shortest = 200 * time.Millisecond
	share    = 10
)

// ErrGone says that the station does not know the tasks any more.
var ErrGone = errors.New("the station does not know the tasks of this sweep any more")

// Find returns a client of the station that takes this user's tasks, if one runs.
func Find(ctx context.Context) (*api.Client, bool) {
	const moment = 2 * time.Second
	ctx, stop := context.WithTimeout(ctx, moment)
	defer stop()
	client := api.NewClient("")
	if _, err := client.State(ctx); err != nil {
		client.Close()
		return nil, false
	}
	return client, true
}

// Open returns the queue of a sweep whose tasks have the given numbers at the station,
// none at first. keep is told the numbers of all whenever there are more.
func Open(ctx context.Context, client *api.Client, numbers map[string]string, keep func(map[string]string) error, onEvent func(runner.Event)) (*Queue, error) {
	q := &Queue{client: client, onEvent: onEvent, keep: keep, numbers: make(map[string]string), jobs: make(map[string]api.Job)}
	for name, id := range numbers {
		q.numbers[name] = id
		q.names = append(q.names, name)
	}
	slices.SortFunc(q.names, func(a, b string) int { return number(q.numbers[a]) - number(q.numbers[b]) })
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

// Submit queues tasks.
func (q *Queue) Submit(tasks ...runner.Task) ([]string, error) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	var all []string
	for part := range slices.Chunk(tasks, api.MaxTasks) {
		ids, err := q.submit(ctx, part)
		all = append(all, ids...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// submit queues what fits into one request.
func (q *Queue) submit(ctx context.Context, tasks []runner.Task) ([]string, error) {
	here := make(map[string]string, len(tasks))
	for i := range tasks {
		here[tasks[i].ID] = fmt.Sprintf("#%d", i+1)
	}
	sent := make([]api.Task, len(tasks))
	for i := range tasks {
		t, err := q.task(&tasks[i], here)
		if err != nil {
			return nil, err
		}
		sent[i] = t
	}
	ids, err := q.client.Submit(ctx, sent...)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, id := range ids {
		q.numbers[tasks[i].ID] = id
		q.names = append(q.names, tasks[i].ID)
		q.jobs[tasks[i].ID] = api.Job{ID: id, Width: max(1, tasks[i].GPUs)} // until somebody looks
	}
	return ids, q.keep(q.numbers)
}

// task is a task as the station takes it; here are those of the same request.
func (q *Queue) task(t *runner.Task, here map[string]string) (api.Task, error) {
	s := api.Task{
		Name: t.ID, Kind: t.Kind, Command: t.Command, Shell: t.Shell, GPUs: t.GPUs, Memory: t.Memory, Alone: t.Alone,
		Time: api.Duration(t.Timeout), Retries: t.Retries, Progress: t.Progress, Class: class(t.Priority),
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

// do does one thing to tasks.
func (q *Queue) do(verb string, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	ids := make([]string, len(names))
	q.mu.Lock()
	for i, name := range names {
		ids[i] = q.numbers[name]
	}
	q.mu.Unlock()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	return q.client.Do(ctx, verb, ids...)
}

// Retry queues tasks again that did not succeed.
func (q *Queue) Retry(names ...string) error { return q.do("requeue", names...) }

// Kill ends tasks.
func (q *Queue) Kill(names ...string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return q.job(name).State.Over() })
	return q.do("cancel", names...)
}

// Drain holds the tasks that wait: none starts any more. [Queue.Run] ends when none runs.
func (q *Queue) Drain() {
	q.mu.Lock()
	q.draining = true
	q.mu.Unlock()
	_ = q.do("hold", q.in(runner.Queued)...) // one that started meanwhile just runs
}

// Spare lets tasks go on, also without who looks on.
func (q *Queue) Spare(...string) error { return nil }

// Describe does nothing: the station finds out what tasks need.
func (q *Queue) Describe(*profile.Profile, profile.Bytes, ...string) error { return nil }

// Close lets go of the station.
func (q *Queue) Close() error {
	q.client.Close()
	return nil
}

// job is a task as it was when somebody looked last.
func (q *Queue) job(name string) api.Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.jobs[name]
}

// in are the tasks in some states.
func (q *Queue) in(states ...runner.State) (names []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range q.names {
		if j, ok := q.jobs[name]; ok && slices.Contains(states, j.State) {
			names = append(names, name)
		}
	}
	return names
}

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
		events = append(events, happened(name, &old, &jobs[i], state.GPUs, state.At)...)
	}
	q.mu.Unlock()
	slices.SortStableFunc(events, func(a, b runner.Event) int { return a.At.Compare(b.At) })
	for _, e := range events {
		tell(e)
	}
	return nil
}

// Records are the tasks as they were when somebody looked last.
func (q *Queue) Records() []runner.Record {
	q.mu.Lock()
	defer q.mu.Unlock()
	records := make([]runner.Record, 0, len(q.names))
	for _, name := range q.names {
		if j, ok := q.jobs[name]; ok {
			records = append(records, record(name, &j, q.gpus))
		}
	}
	return records
}

// GPUs are those of the station.
func (q *Queue) GPUs() []runner.GPUState {
	q.mu.Lock()
	defer q.mu.Unlock()
	states := make([]runner.GPUState, len(q.gpus))
	for i := range q.gpus {
		g := &q.gpus[i]
		states[i] = runner.GPUState{
			Device: nvmlx.DeviceInfo{ID: g.ID, Index: g.Index, Name: g.Name, Memory: profile.Some(g.Memory)}, Lost: g.Lost, Mechanism: g.Mechanism,
			Usable: g.Usable, Reserved: g.Reserved, Used: g.Used, Busy: g.Busy, Tasks: g.Jobs,
		}
	}
	return states
}
