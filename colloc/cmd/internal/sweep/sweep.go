package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/cmd/internal/joblog"
	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// sweep is one run of the program over its tasks.
type sweep struct {
	o       *options
	jobs    []grammar.Job
	byID    map[string]*grammar.Job
	host    *host
	station *api.Client // that has the tasks; nil is a runner of the sweep's own
	handed  *handed
	runner  engine
	log     *joblog.Log
	show    *screen.Switch
	started time.Time

	mu    sync.Mutex
	err   error // what keeps the sweep from its books
	kinds map[string]*kind
	// largest is what the largest GPU offers.
	largest profile.Bytes
	// stopSampling is called when every kind is known.
	stopSampling func()
	unseen       bool          // that no GPU memory is seen was told
	failed       runner.Record // the last task that failed
	running      map[string]bool
	// together is how many tasks ran at once at most.
	together, recoveries, retries int
}

// The files in the folder of a sweep.
const (
	jobLogName  = "joblog.csv"
	profileName = "profile.json"
	queueName   = "queue"
	argsName    = "arguments.json"
	fakeName    = "fake"
	lockName    = "lock"
	hangUpName  = "terminal-closed.log"
	stationName = "station.json"
)

// newPlanner returns what decides who shares.
func (o *options) newPlanner() (*colloc.Planner, error) {
	return colloc.New(colloc.Config{MaxSet: o.perGPU})
}

// newKinds returns the kinds of the jobs, with what was measured before. If that is
// of one task and the sweep of one kind, they are taken to be the same.
func newKinds(jobs []grammar.Job, known map[string]*kind) map[string]*kind {
	kinds := make(map[string]*kind)
	found := false
	for _, j := range jobs {
		if kinds[j.Kind] == nil {
			kinds[j.Kind] = &kind{Name: j.Kind}
			if k := known[j.Kind]; k != nil {
				kinds[j.Kind], found = k, true
			}
		}
	}
	if len(kinds) == 1 && len(known) == 1 && !found {
		for name := range kinds {
			for _, k := range known {
				kinds[name] = &kind{name, k.Kind}
			}
		}
	}
	return kinds
}

// objective is what counts: a sweep is done when its last job is.
const objective = 1.0

// config is what the runner needs to know.
func (s *sweep) config(p *colloc.Planner) runner.Config {
	o := s.o
	together := runner.SharedFolder()
	if o.fakeGPUs != "" {
		together = "" // each sweep has fake GPUs of its own
	}
	return runner.Config{
		Shared: together,
		Dir:    filepath.Join(o.logs, queueName), Gone: o.gone, Source: s.host.source, GPUs: o.gpus, Planner: p, PerGPU: o.perGPU,
		Objective:   profile.Some(objective),
		MemoryFloor: o.floor, LogLimit: o.logLimit, Mechanisms: o.mechanisms, Env: s.host.env,
		Watch: min(time.Second, max(o.profiling/30, 50*time.Millisecond)), Window: min(runner.DefaultWindow, o.profiling),
		Halt: runner.Halt{Failures: o.halt.failures(len(s.jobs)), Kill: o.halt.now, InARow: o.halt.inARow()}, OnEvent: s.event,
	}
}

// open opens the queue. One that cannot be read was set aside: the job log tells
// what is left to do.
func (s *sweep) open(ctx context.Context) error {
	if s.station != nil {
		return s.atStation(ctx, s.station, s.handed)
	}
	p, err := s.o.newPlanner()
	if err != nil {
		return err
	}
	own, err := runner.Open(ctx, s.config(p))
	var corrupt *runner.CorruptError
	if errors.As(err, &corrupt) {
		s.show.Note(fmt.Sprintf("the queue %s is corrupt and was set aside as %s; the job log tells what is left to do", corrupt.Path, corrupt.Aside))
		own, err = runner.Open(ctx, s.config(p))
	}
	if errors.Is(err, runner.ErrElsewhere) {
		err = fmt.Errorf("%w\nhere: colloc sweep -logs %s -resume -gone HOST", err, grammar.QuoteWord(s.o.logs))
	}
	if err == nil {
		s.runner = own
	}
	return err
}

// task is a job as the runner sees it.
func (s *sweep) task(j *grammar.Job) runner.Task {
	o := s.o
	t := runner.Task{
		ID: j.ID, Command: s.host.command(j.Command, o.grid.Shell), Shell: o.grid.Shell, Priority: j.Priority,
		Env: o.groupEnv(), GPUs: o.taskGPUs, Retries: o.retries, Restart: o.restart, Timeout: o.timeout, Progress: runner.Progress{Pattern: o.step, Total: o.steps},
	}
	if k := s.kinds[j.Kind]; k.Profile != nil {
		t.Profile, t.Memory = k.Profile, o.memory
	}
	if s.station != nil {
		t.Memory = o.memory
		if len(o.grid.By) > 0 {
			t.Kind = j.Kind
		}
	}
	for _, id := range j.After {
		if s.log.Entries[id].Status != joblog.StatusOK { // what succeeded may have left the queue
			t.After = append(t.After, runner.Dependency{Task: id})
		}
	}
	return t
}

// submit queues what is left to do and returns how many tasks that are.
func (s *sweep) submit() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queued := make(map[string]runner.State)
	for _, r := range s.runner.Records() {
		queued[r.Task.ID] = r.State
		j := s.byID[r.Task.ID]
		if j == nil || s.station == nil && !slices.Equal(r.Task.Command, s.host.command(j.Command, s.o.grid.Shell)) {
			return 0, fmt.Errorf("%s holds another sweep, in which task %s is %s: give the same command, or none", s.o.logs, r.Task.ID, grammar.QuoteWords(r.Task.Command))
		}
		if r.State.Over() { // in case it ended while nobody wrote
			if err := s.log.Add(j, &r); err != nil {
				return 0, err
			}
		}
	}
	var tasks []runner.Task
	var again []string
	known := make(map[*kind][]string)
	left := 0
	for i := range s.jobs {
		j := &s.jobs[i]
		state, inQueue := queued[j.ID]
		status := s.log.Entries[j.ID].Status
		switch {
		case status == joblog.StatusOK || status == joblog.StatusFailed && !s.o.resumeFailed && (!inQueue || state.Over()):
			continue
		case !inQueue:
			tasks = append(tasks, s.task(j))
		case state == runner.Failed || state == runner.Cancelled:
			again = append(again, j.ID)
		case state == runner.Queued && s.kinds[j.Kind].Profile != nil:
			known[s.kinds[j.Kind]] = append(known[s.kinds[j.Kind]], j.ID)
		}
		left++
	}
	for k, ids := range known {
		if err := s.runner.Describe(k.Profile, s.o.memory, ids...); err != nil {
			return 0, err
		}
	}
	if len(tasks) > 0 {
		if _, err := s.runner.Submit(tasks...); err != nil {
			return 0, err
		}
	}
	if len(again) > 0 {
		return left, s.runner.Retry(again...)
	}
	return left, nil
}

// event is told everything that happens.
func (s *sweep) event(e runner.Event) {
	s.mu.Lock()
	if j := s.byID[e.Record.Task.ID]; j != nil {
		s.follow(&e, j)
	}
	if e.Kind == runner.EventHalted {
		e.Text += s.lastWords()
	}
	s.mu.Unlock()
	if e.Kind == runner.EventWarning && !s.o.ownStep && strings.HasPrefix(e.Text, "no steps were found") {
		e.Text = "no steps were found in the output of " + e.Record.Task.ID + ", so that speeds are not measured: -step tells how to find them"
	}
	s.show.Event(&e)
}

// follow keeps the books of a task.
func (s *sweep) follow(e *runner.Event, j *grammar.Job) {
	k, r := s.kinds[j.Kind], &e.Record
	switch e.Kind {
	case runner.EventStarted:
		if s.station == nil && k.Profile == nil {
			k.Begin(e.At, r, false)
		}
		s.link(r)
		fallthrough
	case runner.EventAdopted:
		s.running[j.ID] = true
		s.together = max(s.together, len(s.running))
	case runner.EventProgress:
		s.learn(k, e.At, r)
	case runner.EventRecovering, runner.EventRetry, runner.EventStopped:
		if r.State == runner.Running { // it is only told to stop
			return
		}
		delete(s.running, j.ID)
		switch e.Kind {
		case runner.EventRetry:
			s.retries++
		case runner.EventRecovering:
			s.recoveries++
		default:
		}
		s.learn(k, e.At, r)
	case runner.EventFinished:
		delete(s.running, j.ID)
		if r.State == runner.Failed {
			s.failed = *r
		}
		s.learn(k, e.At, r)
		s.fail(s.log.Add(j, r))
	default:
	}
}

// sample is told what the GPUs do as long as a kind is unknown.
func (s *sweep) sample(sample nvmlx.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kinds {
		if k.Sample(&sample) {
			s.learn(k, sample.At, k.Watched())
		}
	}
}

// curious reports whether there are kinds that nothing is known of.
func (s *sweep) curious() bool {
	return slices.ContainsFunc(s.jobs, func(j grammar.Job) bool { return s.kinds[j.Kind].Profile == nil })
}

// usual is by what share tasks are believed to differ that -by says are alike.
const usual = 0.01

// learn takes what was seen of a task for its kind: once enough was seen of the one that is watched, tasks of the kind can share, and
// they reserve what follows from what one of them was seen to need.
func (s *sweep) learn(k *kind, now time.Time, r *runner.Record) {
	rules, most := &solo.Rules{Enough: s.o.profiling, Usual: usual, Largest: s.largest, Blind: true}, k.Peaks.Most
	learned, err := k.Follow(now, k.Name, r, rules, s.host.models[r.GPU])
	switch {
	case err != nil:
		s.fail(err)
		return
	case learned:
		s.show.Note(k.String())
		if _, ok := k.Profile.Vector.Get(profile.PeakMemory); !ok && !s.unseen && s.o.memory == 0 && s.o.taskGPUs == 1 {
			s.unseen = true
			s.show.Note("no GPU memory was seen of the tasks: each keeps a GPU to itself; give -mem")
		}
	case s.o.memory > 0 || !k.Saw(r, rules):
		return
	case k.Peaks.Most > most:
		s.show.Note(fmt.Sprintf("%s uses %v, more than was measured: tasks like it reserve as much from now on", r.Task.ID, k.Peaks.Most))
	}
	s.spread(k)
	if learned && !s.curious() {
		s.stopSampling()
	}
}

// spread tells the runner what is known of the tasks of a kind, and keeps it.
func (s *sweep) spread(k *kind) {
	var ids []string
	for _, r := range s.runner.Records() {
		if j := s.byID[r.Task.ID]; j != nil && j.Kind == k.Name && !r.State.Over() {
			ids = append(ids, j.ID)
		}
	}
	s.fail(s.runner.Describe(k.Profile, s.o.memory, ids...))
	s.fail(saveKinds(filepath.Join(s.o.logs, profileName), s.kinds))
}

// fail notes the first thing that keeps the sweep from its books. It then starts
// nothing more: what runs may be worth days.
func (s *sweep) fail(err error) {
	if err == nil || s.err != nil {
		return
	}
	s.err = err
	s.runner.Drain()
}

// link makes the output of a task's last run appear as TASK.log.
func (s *sweep) link(r *runner.Record) {
	dir, err := filepath.Abs(s.o.logs)
	if err != nil {
		s.fail(err)
		return
	}
	target, err := filepath.Rel(dir, r.Log)
	if err != nil {
		target = r.Log
	}
	name := filepath.Join(dir, r.Task.ID+".log")
	_ = os.Remove(name) // of the run before
	s.fail(os.Symlink(target, name))
}
