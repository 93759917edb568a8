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
	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/cmd/internal/joblog"
	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// sweep is one run of the program over its tasks.
type sweep struct {
	o       *options
	jobs    []grammar.Job
	byID    map[string]*grammar.Job
	host    *gpus.Host
	station *api.Client // that has the tasks; nil is a runner of the sweep's own
	handed  *handed
	runner  engine
	log     *joblog.Log
	show    *screen.Switch
	kinds   map[string]solo.Kind // what was known before
	learner *solo.Learner        // learns more; nil where a station does
	started time.Time

	mu      sync.Mutex
	err     error         // what keeps the sweep from its books
	unseen  bool          // that no GPU memory is seen was told
	failed  runner.Record // the last task that failed
	running map[string]bool
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
func newKinds(jobs []grammar.Job, known map[string]solo.Kind) map[string]solo.Kind {
	kinds := make(map[string]solo.Kind)
	for _, j := range jobs {
		kinds[j.Kind] = known[j.Kind]
	}
	if len(kinds) == 1 && len(known) == 1 {
		for name := range kinds {
			for _, k := range known {
				kinds[name] = k
			}
		}
	}
	return kinds
}

// usual is by what share tasks are believed to differ that -by says are alike.
const usual = 0.01

// learns is how the sweep learns what tasks need.
func (s *sweep) learns() solo.Learning {
	return solo.Learning{
		Rules:  solo.Rules{Enough: s.o.profiling, Usual: usual, Blind: true},
		Source: s.host.Source, Headroom: packer.DefaultHeadroom, Gangs: true, Together: true,
		Name: func(r *runner.Record) string {
			if j := s.byID[r.Task.ID]; j != nil {
				return j.Kind
			}
			return ""
		},
		Reserve: func(*runner.Record) profile.Bytes { return s.o.memory },
	}
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
		Dir:    filepath.Join(o.logs, queueName), Gone: o.gone, Source: s.host.Source, GPUs: o.gpus, Planner: p, PerGPU: o.perGPU,
		Objective:   profile.Some(objective),
		MemoryFloor: o.floor, LogLimit: o.logLimit, Mechanisms: o.mechanisms, Env: s.host.Env,
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
	s.learner = solo.NewLearner(s.learns(), s.kinds)
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
		s.learner.Attach(own)
	}
	return err
}

// task is a job as the runner sees it.
func (s *sweep) task(j *grammar.Job) runner.Task {
	o := s.o
	t := runner.Task{
		ID: j.ID, Command: o.runs(j, s.host), Shell: o.grid.Shell, Priority: j.Priority,
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
		if j == nil || s.station == nil && !slices.Equal(r.Task.Command, s.o.runs(j, s.host)) {
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
	known := make(map[string][]string)
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
			known[j.Kind] = append(known[j.Kind], j.ID)
		}
		left++
	}
	for name, ids := range known {
		if err := s.runner.Describe(s.kinds[name].Profile, s.o.memory, ids...); err != nil {
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
	r := &e.Record
	s.learn(e)
	switch e.Kind {
	case runner.EventStarted:
		s.link(r)
		fallthrough
	case runner.EventAdopted:
		s.running[j.ID] = true
		s.together = max(s.together, len(s.running))
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
	case runner.EventFinished:
		delete(s.running, j.ID)
		if r.State == runner.Failed {
			s.failed = *r
		}
		s.fail(s.log.Add(j, r))
	default:
	}
}

// learned is told of a run that is watched.
func (s *sweep) learned(e *runner.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learn(e)
}

// learn takes what was seen of a task for its kind: once enough was seen of the one that is watched, tasks of the kind can share, and
// they reserve what follows from what one of them was seen to need. mu is held.
func (s *sweep) learn(e *runner.Event) {
	if s.learner == nil {
		return
	}
	k, err := s.learner.Follow(e)
	switch {
	case err != nil:
		s.fail(err)
		return
	case k == nil || !k.First && s.o.memory > 0:
		return
	case k.First:
		s.show.Note(screen.Measured(k.Name, k.Measured(), &k.Timing))
		if _, ok := k.Profile.Vector.Get(profile.PeakMemory); !ok && !s.unseen && s.o.memory == 0 && s.o.taskGPUs == 1 {
			s.unseen = true
			s.show.Note("no GPU memory was seen of the tasks: each keeps a GPU to itself; give -mem")
		}
	case k.More:
		s.show.Note(fmt.Sprintf("%s uses %v, more than was measured: tasks like it reserve as much from now on", e.Record.Task.ID, k.Peaks.Most))
	}
	s.fail(saveKinds(filepath.Join(s.o.logs, profileName), s.learner.Known()))
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
