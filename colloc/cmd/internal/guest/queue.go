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
	client *api.Client
	hooks  Hooks
	absent time.Duration // how long the station may be away
	common bool          // this user may not submit in class high
	told   bool          // that tasks could not be held

	mu       sync.Mutex // guards what follows
	numbers  map[string]string
	pending  *Pending
	names    []string // in the order of submission
	jobs     map[string]api.Job
	before   map[string]int // runs that tasks had had when they were queued again
	gpus     []api.GPU
	draining bool
}

// patience is how long the station may take to answer.
const patience = time.Minute

// absence is how long a station may be away, as while it is started anew.
const absence = 10 * time.Minute

// ErrGone says that the station does not know the tasks any more.
var ErrGone = errors.New("the station does not know the tasks of this sweep any more: it began its queue anew; remove station.json from the sweep's folder, and -resume queues what is left")

// Tasks are those of a sweep at a station, as they are kept.
type Tasks struct {
	// Numbers are their jobs, by name.
	Numbers map[string]string `json:"numbers"`
	// Pending are those that were being handed over when this was kept.
	Pending *Pending `json:"pending,omitempty"`
}

// Pending are tasks that are being handed over: whether the station has them is not known
// until they are looked for.
type Pending struct {
	// Names are the tasks, in order; the station gives them numbers in a row.
	Names []string `json:"names"`
	// Dir is where they run, and Since a number that the station gave before.
	Dir   string `json:"dir"`
	Since int    `json:"since"`
}

// Hooks are what a queue tells the sweep.
type Hooks struct {
	// Keep is told the tasks before some are handed over and after; none, where nothing
	// came of it.
	Keep func(Tasks) error
	// Event is told what happens to tasks, Note what people should know besides. They may
	// not call the queue, but for Drain.
	Event func(runner.Event)
	Note  func(string)
}

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

// Retry queues tasks again that did not succeed. From then on they wait, and are not what
// somebody saw before.
func (q *Queue) Retry(names ...string) error {
	if err := q.do("requeue", names...); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range names {
		j := q.jobs[name]
		j.State, j.Err, q.before[name] = runner.Queued, "", j.Runs
		q.jobs[name] = j
	}
	return nil
}

// Kill ends tasks.
func (q *Queue) Kill(names ...string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return q.job(name).State.Over() })
	return q.do("cancel", names...)
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
		if jobs[i].Name != name {
			q.mu.Unlock()
			return fmt.Errorf("%w: job %s is not %s but %q", ErrGone, jobs[i].ID, name, jobs[i].Name)
		}
		old := q.jobs[name]
		q.jobs[name] = jobs[i]
		events = append(events, happened(name, q.before[name], &old, &jobs[i], state.GPUs, state.At)...)
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
