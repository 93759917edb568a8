package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/colloc/profile"
)

// status is where a task is in its life.
type status uint8

const (
	submitted status = iota // not yet
	waiting
	running
	finished
	failed
)

func (s status) String() string {
	return [...]string{"not submitted", "waiting", "running", "finished", "given up"}[s]
}

// simulation is one run.
type simulation struct {
	o       Options
	policy  Policy
	sched   Scheduler
	learner Learner // nil if sched does not learn
	state   State
	now     time.Duration

	tasks       []runTask // by arrival
	nextArrival int
	timers      timers
	gpus        []runGPU
	world       []worldEvent // by time
	meter       meter

	dirty    []int // GPUs whose set changed
	affected []int // tasks on them
	set      []*Task
	dst      []float64
	event    Event
	obs      CoRun
	fault    error // of a learner
	cards    int   // GPUs that are not instances
	vain     int   // decisions that did nothing
	due      []int // tasks with a timer that is over, other than those that finish
	ends     []End
	// needed and total are for the event of a death
	needed, total profile.Bytes
}

// runTask is the truth about a task.
type runTask struct {
	task  *Task
	done  float64 // work, in nanoseconds
	saved float64 // of done, what a loss does not take
	speed float64
	last  time.Duration // done is that of this moment
	ready time.Duration // no progress before
	// what comes next
	finish, oom, checkpoint time.Duration
	first                   time.Duration // of the first start; -1 before
	waited                  time.Duration
	lost                    bool    // died or was lost and did not start again
	seen                    bool    // among the affected
	integral                float64 // of the number of tasks in the system, at its arrival
}

// worldEvent is what happens to GPUs, whatever the policy does.
type worldEvent struct {
	at   time.Duration
	gpu  int
	kind EventKind // GPULoss, GPUReturn, Repartition for its end; 0 is a wake-up
}

// Run replays tasks on a cluster under a policy. The tasks may be in any order
// and are not modified.
//
// It returns an error for faulty input and options, for a policy that decides
// something impossible (a [DecisionError]) or fails, for a model that fails, and
// ctx.Err() when cancelled. Tasks that the policy never places are counted in
// the Result, not an error.
//
// O(events · (log tasks + tasks per GPU)) without what the policy does.
func Run(ctx context.Context, c *Cluster, tasks []Task, p Policy, o Options) (*Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := validateTasks(tasks); err != nil {
		return nil, err
	}
	if p == nil {
		return nil, errors.New("sim: no policy")
	}
	s := newSimulation(c, tasks, p, o)
	if s.sched, err = p.Begin(&s.state); err != nil {
		return nil, fmt.Errorf("sim: policy %s: %w", p.Name(), err)
	}
	s.learner, _ = s.sched.(Learner)
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	return s.result(), nil
}

func newSimulation(c *Cluster, tasks []Task, p Policy, o Options) *simulation {
	s := &simulation{o: o, policy: p}
	s.tasks = make([]runTask, len(tasks))
	for i := range tasks {
		s.tasks[i] = runTask{task: &tasks[i], finish: never, oom: never, checkpoint: never, first: -1}
	}
	slices.SortStableFunc(s.tasks, func(a, b runTask) int { return cmp.Compare(a.task.Arrival, b.task.Arrival) })
	s.timers = newTimers(len(tasks))
	st := &s.state
	st.sim, st.waiting, st.running = s, newQueue(len(tasks)), newQueue(len(tasks))
	st.tasks = make([]TaskView, len(tasks))
	for n := range c.Nodes {
		node := &c.Nodes[n]
		view := NodeView{Index: n, First: len(s.gpus), Count: len(node.GPUs), CPU: node.CPU, Memory: node.Memory}
		if node.CPU == 0 {
			view.CPU = math.MaxFloat64
		}
		if node.Memory == 0 {
			view.Memory = math.MaxInt64
		}
		view.TotalCPU, view.TotalMemory = view.CPU, view.Memory
		st.nodes = append(st.nodes, view)
		for g := range node.GPUs {
			s.addGPU(&node.GPUs[g], n, 1)
		}
	}
	s.cards = len(s.gpus)
	for _, l := range c.Losses {
		s.world = append(s.world, worldEvent{at: l.At, gpu: l.GPU, kind: GPULoss})
		if l.For > 0 {
			s.world = append(s.world, worldEvent{at: later(l.At, l.For), gpu: l.GPU, kind: GPUReturn})
		}
	}
	slices.SortStableFunc(s.world, func(a, b worldEvent) int { return cmp.Compare(a.at, b.at) })
	s.meter.begin(o.Points)
	return s
}

// addGPU makes a GPU known, up and empty.
func (s *simulation) addGPU(g *GPU, node int, weight float64) *GPUView {
	st := &s.state
	view := &GPUView{Index: len(st.gpus), Node: node, GPU: g, Up: true, Total: g.memory()}
	st.gpus = append(st.gpus, view)
	s.gpus = append(s.gpus, runGPU{view: view, weight: weight, parent: -1, watts: g.watts(0), since: s.now})
	if len(st.gpus) > len(st.idle)*64 {
		st.idle = append(st.idle, 0)
	}
	st.setIdle(view)
	return view
}

// ctxEvery is how many moments pass between two looks at the context.
const ctxEvery = 256

// run goes from moment to moment.
func (s *simulation) run(ctx context.Context) error {
	for moments := 0; ; moments++ {
		if moments%ctxEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		at := s.nextMoment()
		if at == never || s.o.Until > 0 && at > s.o.Until {
			break
		}
		s.sample(at)
		s.now = at
		if err := s.happen(); err != nil {
			return err
		}
		if s.over() {
			break
		}
		if err := s.decide(); err != nil {
			return err
		}
	}
	if s.o.Until > 0 {
		s.sample(later(s.o.Until, 1))
		s.now = s.o.Until
	}
	for g := range s.gpus {
		s.charge(g)
	}
	return nil
}

// maxVain is how many decisions in a row may do nothing on a cluster where
// nothing runs and to which nothing comes; then the tasks that wait wait for ever.
const maxVain = 1000

// over reports whether the tasks that wait will wait for ever: wake-ups alone do
// not keep a simulation going.
func (s *simulation) over() bool {
	matters := func(w worldEvent) bool { return w.kind != 0 }
	busy := s.nextArrival < len(s.tasks) || len(s.timers.heap) > 0 || len(s.state.decided) > 0
	if busy || !s.done() && slices.ContainsFunc(s.world, matters) {
		s.vain = 0
	}
	s.vain++
	return s.vain > maxVain
}

// done reports whether every task ended.
func (s *simulation) done() bool {
	return s.nextArrival == len(s.tasks) && s.state.waiting.live+s.state.running.live == 0
}

// nextMoment is when something happens next; never if nothing does. When every
// task ended only a layout that changes is waited for: GPUs that fail later, and
// wake-ups, must not count as time that the tasks took.
func (s *simulation) nextMoment() time.Duration {
	at := s.timers.next()
	if s.nextArrival < len(s.tasks) {
		at = min(at, s.tasks[s.nextArrival].task.Arrival)
	}
	done := s.done()
	for _, w := range s.world {
		if !done || w.kind == Repartition {
			return min(at, w.at)
		}
	}
	return at
}

// happen lets everything happen that is due now.
func (s *simulation) happen() error {
	st := &s.state
	st.waiting.compact()
	st.running.compact()
	st.arrived, st.ended, st.turned, st.freed = st.arrived[:0], st.ended[:0], st.turned[:0], false
	for s.timers.next() <= s.now {
		s.expire()
	}
	for len(s.world) > 0 && s.world[0].at <= s.now {
		w := s.world[0]
		s.world = s.world[1:]
		s.turn(w)
	}
	for s.nextArrival < len(s.tasks) && s.tasks[s.nextArrival].task.Arrival <= s.now {
		s.arrive(s.nextArrival)
	}
	return s.refresh()
}

// expire handles the timers of tasks that are over, those that finish first, so
// that nobody dies for want of memory that is free by now.
func (s *simulation) expire() {
	s.due = s.due[:0]
	for s.timers.next() <= s.now {
		i := int(s.timers.heap[0])
		r := &s.tasks[i]
		if r.finish > s.now {
			s.due = append(s.due, i)
			s.timers.set(i, never)
			continue
		}
		s.settle(r)
		r.done = float64(r.task.Work)
		s.end(i, finished, Finish)
	}
	for _, i := range s.due {
		if s.tasks[i].oom <= s.now {
			s.outOfMemory(i)
		} else {
			s.checkpoint(i)
		}
	}
}

func (s *simulation) arrive(i int) {
	r := &s.tasks[i]
	t := r.task
	s.nextArrival++
	reserve := t.Memory
	if s.o.Reserve != nil {
		reserve = max(0, s.o.Reserve(t))
	}
	length := t.Work
	if s.o.LengthError > 0 {
		noisy := float64(t.Work) * lognormal(hash(s.o.Seed+2, t.ID), s.o.LengthError)
		length = time.Duration(min(noisy, float64(never/2)))
	}
	s.state.tasks[i] = TaskView{
		Index: i, ID: t.ID, Type: t.Type, Profile: t.Profile, Arrival: t.Arrival, GPUs: t.gpus(),
		OneNode: t.OneNode, HostOnly: t.HostOnly, Only: t.Only, Share: t.Share, CPU: t.CPU, HostMemory: t.HostMemory,
		Busy: t.Busy, Bandwidth: t.Bandwidth, Stages: t.Stages, Length: max(1, length), Reserve: reserve,
	}
	r.integral = s.meter.come(s.now)
	s.wait(i)
	s.tell(Event{Kind: Arrival, Index: i})
}

// wait puts a task into the queue.
func (s *simulation) wait(i int) {
	v := &s.state.tasks[i]
	v.status, v.Since = waiting, s.now
	s.state.waiting.push(i)
	s.state.arrived = append(s.state.arrived, v)
}

// decide asks the policy.
func (s *simulation) decide() error {
	st := &s.state
	st.decided, st.decidedGPUs, st.wake = st.decided[:0], st.decidedGPUs[:0], never
	s.meter.decisions++
	if err := s.sched.Decide(st); err != nil {
		return fmt.Errorf("sim: policy %s at %v: %w", s.policy.Name(), s.now, err)
	}
	if st.err != nil {
		return st.err
	}
	if st.wake < never {
		s.schedule(worldEvent{at: st.wake})
	}
	if s.o.RestartAll {
		for i := range st.running.all() {
			s.settle(&s.tasks[i])
			s.pause(i)
		}
	}
	return s.refresh()
}

// schedule puts a world event in its place; later ones of the same time come
// after.
func (s *simulation) schedule(w worldEvent) {
	i, _ := slices.BinarySearchFunc(s.world, w.at, func(e worldEvent, at time.Duration) int {
		if e.at <= at {
			return -1
		}
		return 1
	})
	if w.kind == 0 && i > 0 && s.world[i-1].at == w.at {
		return // a decision is taken then anyway
	}
	s.world = slices.Insert(s.world, i, w)
}

// tell reports an event.
func (s *simulation) tell(e Event) {
	s.meter.count(e.Kind)
	if s.o.OnEvent == nil {
		return
	}
	e.At = s.now
	if e.Index >= 0 {
		v := &s.state.tasks[e.Index]
		e.Task = v.ID
		if e.GPUs == nil {
			e.GPUs = v.On
		}
	}
	s.event = e
	s.o.OnEvent(&s.event)
}
