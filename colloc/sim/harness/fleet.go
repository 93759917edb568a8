package harness

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Config says what a Fleet is made of.
type Config struct {
	// GPUs are its cards, without residents. Required; see [Cards].
	GPUs []colloc.GPU
	// Truth is how fast tasks really run, at most 1e6 and more than 0; nil is [Overlap].
	Truth sim.Model
	// Start is the time at which it begins; zero is the first of January 2026, UTC.
	Start time.Time
	// OOMAfter is how long a task whose memory does not fit runs until it dies; 0 is 30 s.
	OOMAfter time.Duration
}

// Fleet is GPUs that pretend. Time stands still but for [Fleet.Step]. Safe for
// concurrent use.
type Fleet struct {
	mu     sync.Mutex
	config Config
	now    time.Time
	cards  []*card
	jobs   []*job // that run, in the order of their start
	err    error  // of the truth; sticks
}

type card struct {
	gpu   colloc.GPU
	truth sim.GPU
	down  bool
	set   []*job
}

// job is a task that runs.
type job struct {
	task  colloc.Task
	truth *sim.Task
	on    []*card
	done  float64 // work, in nanoseconds
	speed float64 // of the slowest of its GPUs
	here  []float64
	dies  time.Time // zero: it does not
}

// Names of errors that callers tell apart.
var (
	// ErrUnknown is for a card or a task that the fleet does not have.
	ErrUnknown = errors.New("unknown")
	// ErrDown is for a card that failed.
	ErrDown = errors.New("down")
	// ErrRuns is for a task that runs already.
	ErrRuns = errors.New("runs already")
)

// New returns a fleet on which nothing runs. It reports every fault of the Config.
func New(c Config) (*Fleet, error) {
	if c.Truth == nil {
		c.Truth = Overlap{}
	}
	if c.Start.IsZero() {
		c.Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if c.OOMAfter == 0 {
		c.OOMAfter = 30 * time.Second
	}
	f := &Fleet{config: c, now: c.Start}
	var errs []error
	if len(c.GPUs) == 0 || c.OOMAfter < 0 {
		errs = append(errs, fmt.Errorf("%d GPUs and OOMAfter %v, want one and 0 at least", len(c.GPUs), c.OOMAfter))
	}
	for i := range c.GPUs {
		g := &c.GPUs[i]
		switch {
		case len(g.Residents) > 0:
			errs = append(errs, fmt.Errorf("GPU %q has residents; start them", g.ID))
		case f.card(g.ID) != nil:
			errs = append(errs, fmt.Errorf("two GPUs are called %q", g.ID))
		}
		errs = append(errs, g.Validate())
		f.cards = append(f.cards, &card{gpu: *g, truth: sim.GPU{Model: g.Model, Memory: g.Total(), Slice: g.Slice}})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	return f, nil
}

// Now is the time in the fleet; give it to a [ledger.Config].
func (f *Fleet) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// GPUs are the cards that are up, in the order of the Config, with what runs there.
func (f *Fleet) GPUs() []colloc.GPU {
	f.mu.Lock()
	defer f.mu.Unlock()
	var up []colloc.GPU
	for _, c := range f.cards {
		if c.down {
			continue
		}
		g := c.gpu
		for _, j := range c.set {
			g.Residents = append(g.Residents, j.task)
		}
		up = append(up, g)
	}
	return up
}

// Usage is what monitoring would show of the cards that are up, for
// [ledger.Ledger.Reconcile].
func (f *Fleet) Usage() []ledger.Usage {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []ledger.Usage
	for _, c := range f.cards {
		if c.down {
			continue
		}
		u := ledger.Usage{GPU: c.gpu.ID, Processes: []ledger.Process{}}
		left := c.gpu.Total()
		for i, j := range c.set {
			used := min(left, j.truth.Memory)
			left -= used
			u.Processes = append(u.Processes, ledger.Process{PID: i + 1, Task: j.task.ID, Memory: profile.Some(used)})
		}
		all = append(all, u)
	}
	return all
}

// Running are the IDs of the tasks that run, in the order of their start.
func (f *Fleet) Running() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []string
	for _, j := range f.jobs {
		ids = append(ids, j.task.ID)
	}
	return ids
}

// Start runs a task on GPUs, as many as it takes at once. truth is what it really is:
// its Work, more than 0, its Memory, and what [Config].Truth asks for; its ID and
// Profile are the task's, and it must not be changed while it runs. As on real cards
// nothing stops a task that does not fit: it dies. The errors are [ErrUnknown],
// [ErrDown], [ErrRuns], a number of GPUs that is not the task's, and a truth that
// cannot be; then nothing starts.
func (f *Fleet) Start(task colloc.Task, truth sim.Task, gpus ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault := func(err error) error { return fmt.Errorf("harness: start %q: %w", task.ID, err) }
	if err := task.Validate(); err != nil {
		return fault(err)
	}
	truth.ID, truth.Profile = task.ID, task.Profile
	if err := truth.Validate(); err != nil {
		return fault(err)
	}
	if f.job(task.ID) != nil {
		return fault(ErrRuns)
	}
	if len(gpus) != task.Width() {
		return fault(fmt.Errorf("%d GPUs, want %d", len(gpus), task.Width()))
	}
	j := &job{task: task, truth: &truth}
	for _, id := range gpus {
		switch c := f.card(id); {
		case c == nil:
			return fault(fmt.Errorf("GPU %q: %w", id, ErrUnknown))
		case c.down:
			return fault(fmt.Errorf("GPU %q: %w", id, ErrDown))
		case slices.Contains(j.on, c):
			return fault(fmt.Errorf("GPU %q is named twice", id))
		default:
			j.on = append(j.on, c)
		}
	}
	j.here = make([]float64, len(j.on))
	f.jobs = append(f.jobs, j)
	for _, c := range j.on {
		c.set = append(c.set, j)
		if c.left() < 0 && j.dies.IsZero() {
			j.dies = f.now.Add(f.config.OOMAfter)
		}
	}
	if err := f.refresh(j.on); err != nil {
		f.remove(j)
		return fault(errors.Join(err, f.refresh(j.on)))
	}
	return nil
}

// Stop ends a task and returns how much of its work is done. [ErrUnknown] means that it
// does not run.
func (f *Fleet) Stop(task string) (done time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := f.job(task)
	if j == nil {
		return 0, fmt.Errorf("harness: stop %q: %w", task, ErrUnknown)
	}
	f.remove(j)
	return time.Duration(j.done), f.refresh(j.on)
}

// Fail takes cards away, all at once, and returns the tasks that were lost with them,
// gangs as a whole, in the order of their start. [ErrUnknown] names a card that is none.
func (f *Fleet) Fail(gpus ...string) ([]string, error) { return f.turn(gpus, true) }

// Repair brings cards back, empty.
func (f *Fleet) Repair(gpus ...string) error {
	_, err := f.turn(gpus, false)
	return err
}

func (f *Fleet) turn(gpus []string, down bool) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range gpus {
		if f.card(id) == nil {
			return nil, fmt.Errorf("harness: GPU %q: %w", id, ErrUnknown)
		}
	}
	for _, id := range gpus {
		f.card(id).down = down
	}
	var lost []string
	var touched []*card
	for _, j := range slices.Clone(f.jobs) {
		if slices.ContainsFunc(j.on, func(c *card) bool { return c.down }) {
			lost, touched = append(lost, j.task.ID), append(touched, j.on...)
			f.remove(j)
		}
	}
	return lost, f.refresh(touched)
}

func (f *Fleet) card(id string) *card {
	if i := slices.IndexFunc(f.cards, func(c *card) bool { return c.gpu.ID == id }); i >= 0 {
		return f.cards[i]
	}
	return nil
}

func (f *Fleet) job(id string) *job {
	if i := slices.IndexFunc(f.jobs, func(j *job) bool { return j.task.ID == id }); i >= 0 {
		return f.jobs[i]
	}
	return nil
}

// left is the memory that the tasks of a card leave; less than 0 is too little.
func (c *card) left() profile.Bytes {
	left := c.gpu.Total()
	for _, j := range c.set {
		left = max(left, math.MinInt64/2) - min(j.truth.Memory, math.MaxInt64/4)
	}
	return left
}

func (f *Fleet) remove(j *job) {
	same := func(o *job) bool { return o == j }
	f.jobs = slices.DeleteFunc(f.jobs, same)
	for _, c := range j.on {
		c.set = slices.DeleteFunc(c.set, same)
	}
}

// refresh asks for the speeds on cards whose sets changed. Memory that became free
// saves who was to die.
func (f *Fleet) refresh(cards []*card) error {
	for _, c := range cards {
		set := make([]*sim.Task, len(c.set))
		for i, j := range c.set {
			set[i] = j.truth
		}
		dst, err := f.ask(c, set)
		if err != nil {
			return err
		}
		for i, j := range c.set {
			j.here[slices.Index(j.on, c)] = dst[i]
			j.speed = slices.Min(j.here)
			if !slices.ContainsFunc(j.on, func(c *card) bool { return c.left() < 0 }) {
				j.dies = time.Time{}
			}
		}
	}
	return nil
}

func (f *Fleet) ask(c *card, set []*sim.Task) ([]float64, error) {
	if len(set) == 0 {
		return nil, nil
	}
	mech := profile.TimeSlice
	switch {
	case len(set) == 1:
		mech = profile.Exclusive
	case !slices.Contains(c.gpu.Mechanisms, profile.TimeSlice) && slices.Contains(c.gpu.Mechanisms, profile.MPS):
		mech = profile.MPS
	}
	dst := make([]float64, len(set))
	if err := f.config.Truth.Speeds(&c.truth, mech, set, dst); err != nil {
		return nil, fmt.Errorf("harness: truth: %w", err)
	}
	for i, s := range dst {
		if !(s > 0 && s <= sim.MaxSpeed) {
			return nil, fmt.Errorf("harness: truth: task %q: %v: %w", set[i].ID, s, sim.ErrSpeed)
		}
	}
	return dst, nil
}
