package online

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/lifetime"
	"example.com/colloc/packer/internal/rollout"
	"example.com/colloc/profile"
)

// Scheduler is colloc's policy: it looks ahead. Tell it what happened, then ask it
// once what starts now.
//
//	s.Submit(online.Job{Task: task, Left: profile.Some(3 * time.Hour)})
//	s.Finish("another")
//	started, err := s.Decide(ctx, now)
//
// Its plain rule lets short tasks go first, by length times GPUs, and whoever fits may pass;
// a task joins others where it adds a twentieth of what it would do alone. At each Decide a
// Scheduler plays what it knows of the cluster to its end: who runs and waits, how fast in
// which company, for how long, in how much memory. It does so under the plain rule, and under
// others: who goes first (in the order of arrival, short or long ones), how large sets grow, how
// much a task must add to share at all, how much more a short task counts than a long one. It
// then starts what the plain rule starts now, unless another is by 2 % better in what
// Objective says, and worse neither in the mean time nor in the end. With what is left of the
// budget it tries single tasks on other GPUs, and keeps what is better. Where more tasks
// wait than have room at once, 16 at least, the plain rule decides: who comes next is unknown, and counts for more.
// Once nobody has come for 5 times as long as before, what is there is taken for the rest of the day: then .3 % in
// what Objective says suffices, however many wait.
//
// A task that has waited for 4 times as long as the longest queue since nobody waited goes first,
// and the GPUs where it can start first are kept for it, for one such task at a time. How long a
// queue is, is how long who comes now would wait if all waited for those before.
//
// What runs stays where it is to its end, unless Job.Restart says what stopping it
// costs. Then it may stop for much shorter ones, if the rest of the day gains 30 %, and a task on one GPU
// may move to another where it ends sooner, a faster or an emptier one, while nobody waits and all
// lengths are known. While a gang waits, all may begin anew, if the day gains: those that go first in sets of one width, which
// are matched by how fast they are together. A gang starts when so many GPUs of one kind
// take it, in one machine unless it is larger than all of them, and may share each
// with others; it runs at the speed of its slowest.
// When 64 tasks that come after it in the order of a rule, or came after it where nobody knows how
// long it runs, have started before a gang, the GPUs where it can start first are kept for it.
//
// A heavier task (Task.Weight) counts for more in the mean time until tasks are done and in
// what a set is worth; Limits.MinGain binds as for [packer.Problem].
//
// Where nobody knows how long a task runs, it goes by those that ended, and by how long
// this one has run already: by those of its Kind, if tasks of one Kind are alike, else by
// all, and before any ended by an hour, and as long again as it has had. Then those go
// first that are most likely to end soon for the time it takes: where a few tasks run for
// much longer than most, those that ran for less, and one that has run for long may stop for
// a newer one, as above; where all are equally long, the one that came first.
//
// The same calls in the same order give the same answers, on every machine. A
// Scheduler is not safe for concurrent use, starts no goroutine and reads no clock.
type Scheduler struct {
	limits  packer.Limits
	model   packer.Model
	o       SchedulerOptions
	gpus    []packer.GPU
	classes []class
	slots   []slot
	sizes   []size           // by class; nil after GPUs came or went
	named   map[string]int32 // the index of each GPU that was not removed
	free    int              // no slot below it was removed
	entries map[string]*entry
	order   []*entry // by arrival
	line    []*entry // that waited at the last decision, in the order of the plain rule, some of them gone
	kinds   map[string]int32
	like    []likeness // by kind
	idles   int64      // how often a kind lost its last task
	spare   int        // kinds that no task has
	bans    map[string]*ban
	sets    *rollout.Sets
	rated   *rollout.Sets // by which rates were worked out last
	touched []int32       // GPUs where others run than did then, some twice
	halted  []*entry      // tasks that left some since
	strains []*entry      // that are strained
	engine  rollout.Engine
	now     time.Duration
	begun   bool // now is a moment of the caller's
	dated   bool // what is told happens now, not at the next decision
	turns   int64
	lives   lifetime.Lives
	told    []*entry
	leaving []*entry                 // that ended since the last Decide
	owners  map[string]rollout.Purse // what each may have at once
	rules   []rollout.Rule
	trying  []int // numbers of rules, the best one of the last decision first
	rule    int   // of the last decision: the best one, or plain
	came    arrivals
	longest int64 // queue since nobody waited, in milliseconds
	fault   error
	schedulerBuffers
}

type schedulerBuffers struct {
	tasks  []*packer.Task
	speeds []float64
	mechs  [1]profile.Mechanism
	set    [rollout.MaxSet]int32
}

// slot is one GPU with what runs on it.
type slot struct {
	class, machine int32
	state          service
	mech           int // how two and more tasks share
	foreign        profile.Bytes
	room           int64
	less           [rollout.MaxSet + 1]int64 // of it, that so many tasks together must leave
	runs           []*entry                  // in the order of their kinds
	set            int32                     // of them, if sets is the Scheduler's
	sets           *rollout.Sets
}

// service is whether a GPU takes tasks.
type service int8

const (
	serves  service = iota
	drained         // takes no more
	down            // runs nothing
	removed         // is not there; its index is free
)

// Job is a task with what is known of its time. Tasks of one Kind may differ in Memory.
type Job struct {
	packer.Task
	// Class comes before all else: those of a higher class go first, and tasks of a lower one
	// that say what a restart costs stop for them.
	Class int
	// Tier comes next: within a class those of a lower tier go first, whatever the order of a
	// rule, and none of a lower tier stops for one of a higher.
	Tier int
	// Owner is whose it is, for [Scheduler.Limit]; empty is nobody's.
	Owner string
	// Left is how long the task would still run without company on a GPU of pace 1,
	// as predicted; missing means that nobody knows.
	Left profile.Opt[time.Duration]
	// Done is how much work it has behind it, in the same measure, as its next start finds it;
	// missing means none. Where Left is missing, what is left follows from it.
	Done profile.Opt[time.Duration]
	// Fixed says that Memory holds whatever is seen of other tasks of its Kind: for one
	// that ran out of memory.
	Fixed bool
	// Restart is what it costs to stop the task and start it again where it was: the
	// checkpoint, the start, and what it repeats. With it the task may stop for much shorter
	// ones, or go on elsewhere, when it has run for 4 times as long, and after each stop for
	// twice as long as before; it moves 3 times at most. Missing means that what runs stays
	// where it is to its end.
	Restart profile.Opt[time.Duration]
	// Came is when the task came, by the clock of Decide; missing is at the last call.
	Came profile.Opt[time.Duration]
}

// validate reports what is wrong with a job.
func (j *Job) validate() error {
	if err := j.Validate(); err != nil {
		return err
	}
	for what, x := range map[string]time.Duration{"Restart": j.Restart.Or(0), "Left": j.Left.Or(0), "Done": j.Done.Or(0), "Came": j.Came.Or(0)} {
		if x < 0 {
			return fmt.Errorf("packer: scheduler: task %q: %s is %v; want 0 or more", j.ID, what, x)
		}
	}
	return nil
}

// entry is a task that runs or waits.
type entry struct {
	Job
	kind int32
	turn int64
	at   int // in order, when the engine was filled last; -1: it is gone
	progress
	before progress      // its last start
	rate   int64         // since the last Decide
	asOf   time.Duration // progress is as of then
	since  time.Duration // its last start
	breaks int           // how often it stopped
	moves  int           // of them to go on elsewhere at once
	known  bool          // left is
	told   bool          // left is that of the next Advance: it is among told of the Scheduler
	fixed  bool          // Memory is what it says
	claim  profile.Bytes // Memory as it was told
	held   bool          // it does not start
	// strained says that MinSpeed was raised while it ran, and that its company may be too much since.
	strained bool
	// passed is how many tasks behind it have started while it did not fit, or that came later if it is a gang.
	passed int
	waited int64 // milliseconds, up to asOf
	on     []int32
	ban    *ban // where it does not start, or nil
}

// progress is how far a task is.
type progress struct {
	left  int64 // milliseconds times rollout.One
	done  int64 // likewise
	again int64 // likewise, that it repeats after it stopped
}

// patience is how many tasks may pass one that goes before them and does not fit.
const patience = 64

// likeness is what is known of tasks of one kind.
type likeness struct {
	task  *packer.Task // one of them, that stands for all; nil: the number is free
	tasks int          // that there are
	idle  int64        // none since: which kind in turn lost its last task
	peak  profile.Bytes
}

// ban is where some tasks do not start.
type ban struct {
	key   string
	gpus  []int
	tasks int
	on    *rollout.Ban
}

func (b *ban) cards() *rollout.Ban {
	if b == nil {
		return nil
	}
	return b.on
}

// ready reports a Scheduler that NewScheduler did not make.
func (s *Scheduler) ready() error {
	if s == nil || s.sets == nil {
		return errors.New("packer: scheduler: it has no GPUs and no Model; NewScheduler makes one")
	}
	return nil
}

func (s *Scheduler) unknown(id string) error {
	return fmt.Errorf("packer: scheduler: %w: %q neither runs nor waits", ErrUnknown, id)
}

// steps is a duration in milliseconds times rollout.One, one at least.
func steps(d time.Duration) int64 {
	return max(1, min(int64(d/time.Millisecond), rollout.MaxLeft/rollout.One)) * rollout.One
}

// size is how many GPUs of a class there are, and how many one machine has at most.
type size struct{ all, widest int }

// measure counts the GPUs of each class.
func (s *Scheduler) measure() []size {
	if s.sizes != nil {
		return s.sizes
	}
	s.sizes = make([]size, len(s.classes))
	here := map[[2]int32]int{}
	for g := range s.slots {
		if c := &s.slots[g]; c.state != removed {
			n, key := &s.sizes[c.class], [2]int32{c.class, c.machine}
			here[key]++
			n.all, n.widest = n.all+1, max(n.widest, here[key])
		}
	}
	return s.sizes
}

// offered is what the largest GPU offers a task: of those that carry its labels, and of which
// there are enough for it, if there are.
func (s *Scheduler) offered(e *entry) profile.Bytes {
	var one, apart, together profile.Bytes
	for k, n := range s.measure() {
		c := &s.classes[k]
		if !c.gpu.Hosts(&e.Task) || n.all == 0 {
			continue
		}
		offer := s.limits.Offer(c.gpu, 1)
		one = max(one, offer)
		if n.all >= e.Width() {
			apart = max(apart, offer)
		}
		if n.widest >= e.Width() {
			together = max(together, offer)
		}
	}
	return cmp.Or(together, apart, one)
}

func (s *Scheduler) reserve(e *entry, memory profile.Bytes) error {
	t := e.Task
	t.Memory = memory
	if err := t.Validate(); err != nil {
		return err
	}
	for _, g := range e.on {
		s.slots[g].room += int64(e.Memory - memory)
	}
	e.Memory = memory
	return nil
}

// needs is what a task needs of which, or of whose Kind, enough was seen: not more than was told,
// if it is within that, nor than a GPU has, as it ran on one, and else it would never start again.
func (s *Scheduler) needs(e *entry, peak profile.Bytes) profile.Bytes {
	w := Watched{Reserved: e.Memory, Peak: profile.Some(peak)}
	need := w.Needs(0, s.o.Growth.Or(DefaultGrowth))
	if peak <= e.claim { // it holds its own margin
		need = min(need, e.claim)
	}
	if most := s.offered(e); most > 0 {
		need = min(need, most)
	}
	return need
}

// SchedulerOptions are the choices of a Scheduler; nil is the zero value.
type SchedulerOptions struct {
	// Objective is what counts: 0 is the mean time until tasks are done, 1 the time
	// until the last one is, and between are mixtures of relative gains in both.
	// Missing means DefaultObjective.
	Objective profile.Opt[float64]
	// Budget is how many starts and ends of tasks are simulated for one decision, more
	// or less, and fewer where many tasks are held against many GPUs: two rules are
	// always played. Missing means DefaultBudget. With 0 it does not look ahead: tasks
	// start where they add most, at least DefaultThreshold of what they would do alone, short ones
	// first, or without Order in the order of arrival. That is the plain rule: the look-ahead does
	// something else only where the rest of the day gains enough.
	Budget profile.Opt[int]
	// Growth is how much more than the peak that was seen of a task is reserved for it,
	// as a fraction; missing means DefaultGrowth.
	Growth profile.Opt[float64]
	// Without are parts of the look-ahead that are left out, to see what each is worth.
	Without Part
	// Machines says in which machine each GPU is, by numbers from 0; nil: one machine
	// has them all.
	Machines []int
}

// Part is a part of the look-ahead, or several of them or'ed together.
type Part uint8

// The parts.
const (
	// Order lets short or long tasks go first.
	Order Part = 1 << iota
	// Moves lets a task that runs go on elsewhere.
	Moves
	// Detours lets single tasks go elsewhere than the best rule says. They gain 1 to 3 % of makespan and cost
	// 1 % of completion; docs/adr/0021-look-ahead.md has the figures, and why they stay.
	Detours
)

// Defaults of SchedulerOptions.
const (
	DefaultObjective = 0.4
	DefaultBudget    = 10000
	DefaultGrowth    = 0.05

	maxGrowth = 16
)
