package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc/sim/internal/agenda"
	"example.com/colloc/colloc/sim/internal/draw"
	"example.com/colloc/colloc/sim/internal/quota"
)

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
		s.tasks[i] = runTask{task: &tasks[i], finish: agenda.Never, oom: agenda.Never, checkpoint: agenda.Never, first: -1}
	}
	slices.SortStableFunc(s.tasks, func(a, b runTask) int { return cmp.Compare(a.task.Arrival, b.task.Arrival) })
	s.timers = agenda.NewTimers(len(tasks))
	st := &s.state
	s.gate = quota.NewGate(o.Quotas)
	priorities := make([]int, len(tasks))
	for i := range s.tasks {
		priorities[i] = s.tasks[i].task.Priority
	}
	st.sim, st.waiting, st.running = s, agenda.NewClasses(priorities), agenda.NewQueue(len(tasks))
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
			s.addGPU(&node.GPUs[g], n)
		}
	}
	for _, l := range c.Losses {
		s.world = append(s.world, worldEvent{at: l.At, gpu: l.GPU, kind: GPULoss})
		if l.For > 0 {
			s.world = append(s.world, worldEvent{at: agenda.Later(l.At, l.For), gpu: l.GPU, kind: GPUReturn})
		}
	}
	slices.SortStableFunc(s.world, func(a, b worldEvent) int { return cmp.Compare(a.at, b.at) })
	s.meter.begin(o.Points)
	return s
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
		if at == agenda.Never || s.o.Until > 0 && at > s.o.Until {
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
		s.sample(agenda.Later(s.o.Until, 1))
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
	busy := s.nextArrival < len(s.tasks) || s.timers.Len() > 0 || len(s.state.decided) > 0
	if busy || !s.done() && slices.ContainsFunc(s.world, matters) {
		s.vain = 0
	}
	s.vain++
	return s.vain > maxVain
}

// done reports whether every task ended.
func (s *simulation) done() bool {
	return s.nextArrival == len(s.tasks) && s.state.waiting.Len()+s.state.running.Len() == 0
}

// nextMoment is when something happens next; never if nothing does. When every
// task ended nothing does: GPUs that fail later, and wake-ups, must not count as
// time that the tasks took.
func (s *simulation) nextMoment() time.Duration {
	at := s.timers.Next()
	if s.nextArrival < len(s.tasks) {
		at = min(at, s.tasks[s.nextArrival].task.Arrival)
	}
	if len(s.world) > 0 && !s.done() {
		at = min(at, s.world[0].at)
	}
	return at
}

// happen lets everything happen that is due now.
func (s *simulation) happen() error {
	st := &s.state
	st.waiting.Compact()
	st.running.Compact()
	st.arrived, st.ended, st.turned, st.freed = st.arrived[:0], st.ended[:0], st.turned[:0], false
	for s.timers.Next() <= s.now {
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
	for s.timers.Next() <= s.now {
		i := s.timers.First()
		r := &s.tasks[i]
		if r.finish > s.now {
			s.due = append(s.due, i)
			s.timers.Set(i, agenda.Never)
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

// arrive submits a task, which its user's quota may hold back.
func (s *simulation) arrive(i int) {
	t := s.tasks[i].task
	s.nextArrival++
	s.state.tasks[i] = TaskView{Index: i, ID: t.ID, Arrival: t.Arrival}
	s.tasks[i].integral = s.meter.come(s.now)
	if s.gate.Pass(t.User, i, t.gpus(), t.Priority) {
		s.admit(i)
	}
	s.tell(Event{Kind: Arrival, Index: i})
}

// admit shows a task to the policy, with what is predicted of it by now.
func (s *simulation) admit(i int) {
	r := &s.tasks[i]
	t := r.task
	reserve := t.Memory
	if s.o.Reserve != nil {
		reserve = max(0, s.o.Reserve(t))
	}
	likely := reserve
	if s.o.Likely != nil {
		likely = max(0, s.o.Likely(t))
	}
	length := t.Work
	if s.o.Length != nil {
		length = s.o.Length(t)
	}
	if s.o.LengthError > 0 {
		noisy := float64(length) * draw.Lognormal(draw.Hash(s.o.Seed+2, t.ID), s.o.LengthError)
		length = time.Duration(min(noisy, float64(agenda.Never/2)))
	}
	s.state.tasks[i] = TaskView{
		Index: i, ID: t.ID, Type: t.Type, User: t.User, Priority: t.Priority, Profile: t.Profile, Arrival: t.Arrival, Startup: t.Startup, GPUs: t.gpus(),
		OneNode: t.OneNode, HostOnly: t.HostOnly, Only: t.Only, Share: t.Share, CPU: t.CPU, HostMemory: t.HostMemory,
		Busy: t.Busy, Bandwidth: t.Bandwidth, Stages: t.Stages, Floor: t.Service.Peak(), Length: max(1, length), Reserve: reserve, Likely: likely,
		Guessed: s.o.Guessed,
	}
	r.waited += s.now - t.Arrival
	s.wait(i)
}

// decide asks the policy.
func (s *simulation) decide() error {
	st := &s.state
	st.decided, st.decidedGPUs, st.wake = st.decided[:0], st.decidedGPUs[:0], agenda.Never
	s.meter.decisions++
	if err := s.sched.Decide(st); err != nil {
		return fmt.Errorf("sim: policy %s at %v: %w", s.policy.Name(), s.now, err)
	}
	if st.err != nil {
		return st.err
	}
	if st.wake < agenda.Never {
		s.schedule(worldEvent{at: st.wake})
	}
	if s.o.RestartAll {
		for i := range st.running.All() {
			s.settle(&s.tasks[i])
			s.pause(i)
		}
	}
	return s.refresh()
}
