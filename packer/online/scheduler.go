package online

import (
	"errors"
	"fmt"
	"slices"
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
// At each Decide it plays what it knows of the cluster to its end: who runs and waits,
// how fast in which company, for how long, in how much memory. It does so under one
// rule after the other: who goes first (in the order of arrival, short or long ones),
// how large sets grow, how much a task must add to share at all, whether anybody may
// pass one that does not fit, how much more a short task counts than a long one. It
// then starts what the best of them starts now. What the best is, Objective says. So
// it waits for a better partner where that pays, shares less where sharing costs much,
// and spreads long tasks in time for the end of the day. With what is left of the budget
// it tries single tasks on other GPUs than the best rule chooses, and keeps what is better.
//
// What runs stays where it is to its end, unless Job.Restart says what stopping it
// costs. Then it may stop for much shorter ones, and a task on one GPU may move to another
// where it ends sooner, a faster or an emptier one, if the rest of the day gains. While a gang
// waits, all may begin anew, if the day gains: those that go first in sets of one width, which
// are matched by how fast they are together. A gang starts when so many GPUs of one kind
// take it, in one machine unless it is larger than all of them, and may share each
// with others; it runs at the speed of its slowest.
// When 64 tasks that came after it in the order of a rule have started before a gang,
// the GPUs where it can start first are kept for it.
//
// A heavier task (Task.Weight) counts for more in the mean time until tasks are done and in
// what a set is worth; Limits.MinGain binds as for [packer.Problem].
//
// Where nobody knows how long a task runs, it goes by those that ended, and by how long
// this one has run already: by those of its Kind, if tasks of one Kind are alike, else by
// all, and before any ended by an hour, and as long again as it has had. Then those go
// first that are most likely to end soon for the time it takes: where a few tasks run for
// much longer than most, those that ran for less, and one that has run for long stops for
// a newer one, if Job.Restart is known; where all are equally long, the one that came first.
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
	entries map[string]*entry
	order   []*entry // by arrival
	kinds   map[string]int32
	like    []*packer.Task // by kind
	sets    *rollout.Sets
	engine  rollout.Engine
	now     time.Duration
	begun   bool // now is a moment of the caller's
	turns   int64
	lives   lifetime.Lives
	leaving []*entry                // that ended since the last Decide
	seen    map[int32]profile.Bytes // the largest peak, by kind
	spare   int                     // kinds that no task has any more
	rules   []rollout.Rule          // the best one of the last decision first
	rule    rollout.Rule            // of the last decision: the best one, or plain
	fault   error
	schedulerBuffers
}

type schedulerBuffers struct {
	tasks  []*packer.Task
	speeds []float64
	mechs  [1]profile.Mechanism
	set    [rollout.MaxSet]int32
}

// Job is a task with what is known of its time. Tasks of one Kind may differ in Memory.
type Job struct {
	packer.Task
	// Left is how long the task would still run without company on a GPU of pace 1,
	// as predicted; missing means that nobody knows.
	Left profile.Opt[time.Duration]
	// Fixed says that Memory holds whatever is seen of other tasks of its Kind: for one
	// that ran out of memory.
	Fixed bool
	// Restart is what it costs to stop the task and start it again where it was: the
	// checkpoint, the start, and what it repeats. With it the task may stop for much shorter
	// ones, or go on elsewhere; missing means that what runs stays where it is to its end.
	Restart profile.Opt[time.Duration]
}

// slot is one GPU with what runs on it.
type slot struct {
	class, machine int32
	down           bool
	mech           int // how two and more tasks share
	room           int64
	less           [rollout.MaxSet + 1]int64 // of it, that so many tasks together must leave
	runs           []*entry                  // in the order of their kinds
}

// entry is a task that runs or waits.
type entry struct {
	Job
	kind  int32
	turn  int64
	left  int64 // milliseconds times rollout.One
	done  int64 // likewise
	again int64 // likewise, that it repeats after it stopped
	rate  int64 // since the last Decide
	known bool  // left is
	told  bool  // left is that of the next Decide
	fixed bool  // Memory is what it says
	// passed is how many tasks behind it have started while it did not fit.
	passed int
	on     []int32
}

// due reports whether nobody may take the place of a gang any more.
func (e *entry) due() bool { return e.Width() > 1 && e.passed >= patience }

// patience is how many tasks may pass a gang that goes before them and does not fit.
const patience = 64

// NewScheduler returns a scheduler of gpus, whose residents run already, for a time
// that nobody knows; see [Scheduler.Adopt] for a better way. The errors are those of
// [packer.Problem.Validate] and of the options. Limits.MaxSet is 4 at most: larger sets
// are not looked at. MIG instances are GPUs of their own, see [NewSession].
func NewScheduler(gpus []packer.GPU, model packer.Model, limits packer.Limits, o *SchedulerOptions) (*Scheduler, error) {
	if o == nil {
		o = &SchedulerOptions{}
	}
	s := &Scheduler{limits: limits, model: model, o: *o, entries: map[string]*entry{}, kinds: map[string]int32{}, seen: map[int32]profile.Bytes{}}
	if x := o.Objective.Or(DefaultObjective); !(x >= 0 && x <= 1) {
		return nil, fmt.Errorf("packer: scheduler: Objective is %v; want 0 for the mean completion time, 1 for the makespan, or between", x)
	}
	if n := o.Budget.Or(DefaultBudget); n < 0 {
		return nil, fmt.Errorf("packer: scheduler: Budget is %d events; want 0 or more", n)
	}
	if x := o.Growth.Or(DefaultGrowth); !(x >= 0 && x <= maxGrowth) {
		return nil, fmt.Errorf("packer: scheduler: Growth is %v; want 0 to %d, a fraction of the peak", x, maxGrowth)
	}
	if o.Machines != nil && len(o.Machines) != len(gpus) {
		return nil, fmt.Errorf("packer: scheduler: Machines names those of %d GPUs and there are %d; want one number each", len(o.Machines), len(gpus))
	}
	if err := check(gpus, model, limits); err != nil {
		return nil, err
	}
	for g := range gpus {
		machine := 0
		if o.Machines != nil {
			machine = o.Machines[g]
		}
		if machine < 0 || machine > maxMachine {
			return nil, fmt.Errorf("packer: scheduler: GPU %q is in machine %d; want 0 to %d", gpus[g].ID, machine, maxMachine)
		}
		s.addSlot(&gpus[g], int32(machine))
	}
	s.engine.MinGain = limits.MinGain
	s.rules, s.rule = rules(s.largest(), o.Without), s.plain()
	if err := s.SetModel(model); err != nil {
		return nil, err
	}
	for g := range gpus {
		for i := range gpus[g].Residents {
			if err := s.Adopt(Job{Task: gpus[g].Residents[i]}, g); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// maxMachine is the highest number of a machine, maxGrowth that of Growth.
const (
	maxMachine = 1 << 20
	maxGrowth  = 16
)

// addSlot appends a GPU.
func (s *Scheduler) addSlot(gpu *packer.GPU, machine int32) {
	bare := *gpu
	bare.Residents, bare.Mechanisms, bare.Labels = nil, slices.Clone(gpu.Mechanisms), slices.Clone(gpu.Labels)
	s.gpus = append(s.gpus, bare)
	k := slices.IndexFunc(s.classes, func(c class) bool { return c.gpu.Alike(&bare) })
	if k < 0 {
		k = len(s.classes)
		s.classes = append(s.classes, class{gpu: &bare, usable: s.limits.Usable(bare.Total()), mechs: bare.Sharing()})
	}
	c := slot{class: int32(k), machine: machine, room: int64(s.classes[k].usable)}
	for n := range c.less {
		c.less[n] = c.room - int64(s.limits.Offer(&bare, max(1, n)))
	}
	s.slots = append(s.slots, c)
}

// SetModel makes another model answer from now on: one that has learned. It returns an
// error if there is none.
func (s *Scheduler) SetModel(m packer.Model) error {
	if m == nil {
		return errors.New("packer: scheduler: Model is nil; it predicts the speeds")
	}
	s.model = m
	s.ask()
	return nil
}

// ask forgets what the model said.
func (s *Scheduler) ask() {
	s.sets = rollout.NewSets(len(s.classes), s.askSet)
	s.engine.Sets = s.sets
}

// Model returns the model that answers.
func (s *Scheduler) Model() packer.Model { return s.model }

// GPUs returns how many GPUs there are, in service or not.
func (s *Scheduler) GPUs() int { return len(s.slots) }

// Submit puts a task into the queue. An invalid task, or one whose ID is in use
// ([ErrDuplicate]), is an error, and nothing changes.
func (s *Scheduler) Submit(j Job) error {
	if err := s.ready(); err != nil {
		return err
	}
	if s.entries[j.ID] != nil {
		return fmt.Errorf("packer: scheduler: %w: %q runs or waits already", ErrDuplicate, j.ID)
	}
	if err := j.Validate(); err != nil {
		return err
	}
	if x := j.Restart.Or(0); x < 0 {
		return fmt.Errorf("packer: scheduler: task %q: Restart is %v; want 0 or more", j.ID, x)
	}
	if x := j.Left.Or(0); x < 0 {
		return fmt.Errorf("packer: scheduler: task %q: Left is %v; want 0 or more", j.ID, x)
	}
	e := &entry{Job: j, turn: s.turns, left: steps(j.Left.Or(time.Hour)), known: !j.Left.IsZero(), fixed: j.Fixed}
	e.Home = ""
	s.turns++
	e.kind = s.kindOf(&e.Task)
	if peak, ok := s.seen[e.kind]; ok && e.Kind != "" && !j.Fixed {
		e.Memory = s.needs(e, peak)
	}
	s.entries[j.ID] = e
	s.order = append(s.order, e)
	return nil
}

// Adopt takes in a task that runs already on some GPUs, as many as it needs: after a
// restart, or one that somebody else started. It is an error where Submit is one, and
// if a GPU does not exist or runs as many as a set may have.
func (s *Scheduler) Adopt(j Job, gpus ...int) error {
	if len(gpus) != j.Width() {
		return fmt.Errorf("packer: scheduler: task %q needs %d GPUs, not %d", j.ID, j.Width(), len(gpus))
	}
	on := make([]int32, len(gpus))
	for i, g := range gpus {
		if g < 0 || g >= len(s.slots) || slices.Contains(gpus[:i], g) {
			return fmt.Errorf("packer: scheduler: task %q runs on GPU %d; there are %d, each once", j.ID, g, len(s.slots))
		}
		if len(s.slots[g].runs) >= rollout.MaxSet {
			return fmt.Errorf("packer: scheduler: task %q is the %dth on GPU %d; want %d at most", j.ID, rollout.MaxSet+1, g, rollout.MaxSet)
		}
		on[i] = int32(g)
	}
	if err := s.Submit(j); err != nil {
		return err
	}
	s.place(s.entries[j.ID], on)
	return nil
}

// Finish takes out a task that has ended or is no longer wanted, running or waiting. What it
// ran for counts to the next Decide. The error of a task that is not there is [ErrUnknown],
// as of Report, Seen and Reserve.
func (s *Scheduler) Finish(id string) error {
	e := s.entries[id]
	if e == nil {
		return s.unknown(id)
	}
	if e.rate > 0 || e.done > 0 {
		s.leaving = append(s.leaving, e)
	}
	s.vacate(e)
	delete(s.entries, id)
	s.order = slices.DeleteFunc(s.order, func(o *entry) bool { return o == e })
	if e.Kind == "" {
		s.like[e.kind] = nil
		s.spare++
	}
	return nil
}

func (s *Scheduler) unknown(id string) error {
	return fmt.Errorf("packer: scheduler: %w: %q neither runs nor waits", ErrUnknown, id)
}

// ready reports a Scheduler that NewScheduler did not make.
func (s *Scheduler) ready() error {
	if s == nil || s.sets == nil {
		return errors.New("packer: scheduler: it has no GPUs and no Model; NewScheduler makes one")
	}
	return nil
}

// Report says how long a task would still run without company on a GPU of pace 1, as
// its own output shows, at the time of the next Decide: predictions get better on the way.
// Without it a Scheduler counts at the predicted speeds. A negative time is an error.
func (s *Scheduler) Report(id string, left time.Duration) error {
	e := s.entries[id]
	if e == nil {
		return s.unknown(id)
	}
	if left < 0 {
		return fmt.Errorf("packer: scheduler: task %q: what is left is %v; want 0 or more", id, left)
	}
	e.left, e.known, e.told = steps(left), true, true
	return nil
}

// Fail takes GPUs out of service. Their tasks return to the queue, where they stand as
// before; Report says what of their work is lost. An index that does not exist is an
// error, and nothing changes.
func (s *Scheduler) Fail(gpus ...int) error {
	for _, g := range gpus {
		if g < 0 || g >= len(s.slots) {
			return fmt.Errorf("packer: scheduler: no GPU %d; there are %d", g, len(s.slots))
		}
	}
	for _, g := range gpus {
		s.slots[g].down = true
		for _, e := range slices.Clone(s.slots[g].runs) {
			s.vacate(e)
		}
	}
	return nil
}

// Restore brings a GPU back into service, empty.
func (s *Scheduler) Restore(gpu int) error {
	if gpu < 0 || gpu >= len(s.slots) {
		return fmt.Errorf("packer: scheduler: no GPU %d; there are %d", gpu, len(s.slots))
	}
	s.slots[gpu].down = false
	return nil
}

// Tasks returns how many tasks run and how many wait.
func (s *Scheduler) Tasks() (running, waiting int) {
	for _, e := range s.order {
		if len(e.on) > 0 {
			running++
		} else {
			waiting++
		}
	}
	return running, waiting
}

// steps is a duration in milliseconds times rollout.One, one at least.
func steps(d time.Duration) int64 {
	return max(1, min(int64(d/time.Millisecond), rollout.MaxLeft/rollout.One)) * rollout.One
}
