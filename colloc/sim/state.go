package sim

import (
	"fmt"
	"iter"
	"math/bits"
	"time"

	"example.com/colloc/colloc/sim/internal/agenda"
	"example.com/colloc/profile"
)

// Policy describes how to schedule: a struct literal whose zero fields are
// defaults. One value serves any number of runs, also at once.
type Policy interface {
	// Name is short and says which variant it is, for example "carma-magm".
	Name() string
	// Begin returns the scheduler for one run on the empty cluster that s shows.
	Begin(s *State) (Scheduler, error)
}

// Scheduler takes the decisions of one run.
//
// Decide is called once at every moment at which something happened: tasks
// arrived, finished, died or were lost, GPUs failed or returned, a wake-up that
// the scheduler asked for is due. It acts by [State.Place], [State.Stop],
// and [State.WakeAt], and sees the effect of its actions on the State at once. Whatever it does not place waits. An error ends the run.
type Scheduler interface {
	Decide(s *State) error
}

// Learner is a Scheduler that wants to know what was measured.
type Learner interface {
	Scheduler
	// Observe is called just before a set that ran long enough changes, also by
	// the scheduler's own actions, and when a task dies for lack of memory. It
	// must not act.
	Observe(o *CoRun) error
}

// State is what a scheduler sees and acts on. It is valid during Begin, Decide
// and Observe only, and must not be shared between goroutines.
type State struct {
	sim     *simulation
	tasks   []TaskView
	gpus    []*GPUView
	nodes   []NodeView
	waiting agenda.Classes
	running agenda.Queue
	arrived []*TaskView
	ended   []*TaskView
	turned  []*GPUView
	freed   bool
	idle    []uint64 // bit i: GPU i is up and empty
	decided []action
	// decidedGPUs are those that decided names
	decidedGPUs []int
	wake        time.Duration
	err         error
	set         []*Task
}

// Now is the time since the start of the trace.
func (s *State) Now() time.Duration { return s.sim.now }

// Seed is [Options].Seed, for schedulers that draw lots.
func (s *State) Seed() uint64 { return s.sim.o.Seed }

// Waiting yields the tasks that wait, those of a higher Priority first, then in the
// order in which they began to. Tasks may be placed while it runs.
func (s *State) Waiting() iter.Seq[*TaskView] { return s.views(s.waiting.All()) }

// Running yields the tasks that run, in the order of their start. Tasks may be
// stopped while it runs.
func (s *State) Running() iter.Seq[*TaskView] { return s.views(s.running.All()) }

func (s *State) views(tasks iter.Seq[int]) iter.Seq[*TaskView] {
	return func(yield func(*TaskView) bool) {
		for t := range tasks {
			if !yield(&s.tasks[t]) {
				return
			}
		}
	}
}

// Next returns the first of the tasks that wait, or nil.
func (s *State) Next() *TaskView {
	for t := range s.waiting.All() {
		return &s.tasks[t]
	}
	return nil
}

// Len returns how many tasks wait, for all that the policy sees, and how many run.
func (s *State) Len() (waiting, running int) { return s.waiting.Len(), s.running.Len() }

// Arrived are the tasks that began to wait since the last decision; some may be
// running by now.
func (s *State) Arrived() []*TaskView { return s.arrived }

// Ended are the tasks that finished or were given up since the last decision.
func (s *State) Ended() []*TaskView { return s.ended }

// Turned are the GPUs that came up or went down since the last decision.
func (s *State) Turned() []*GPUView { return s.turned }

// Freed reports whether anything became free since the last decision. If not,
// tasks that did not fit then do not fit now.
func (s *State) Freed() bool { return s.freed }

// Task returns the task of an index that was submitted to the policy, or nil.
func (s *State) Task(index int) *TaskView {
	if index < 0 || index >= len(s.tasks) || s.tasks[index].status == submitted {
		return nil // it did not come, or is held back
	}
	return &s.tasks[index]
}

// GPUs are all GPUs, by index.
func (s *State) GPUs() []*GPUView { return s.gpus }

// Nodes are all machines, by index.
func (s *State) Nodes() []NodeView { return s.nodes }

// Idle yields the GPUs that are up and have no task, by index. GPUs may be used
// while it runs.
func (s *State) Idle() iter.Seq[*GPUView] {
	return func(yield func(*GPUView) bool) {
		for w := range s.idle {
			for word := s.idle[w]; word != 0; word &= word - 1 {
				i := w*64 + bits.TrailingZeros64(word)
				if s.idle[w]&(1<<(i%64)) != 0 && !yield(s.gpus[i]) {
					return
				}
			}
		}
	}
}

// Progress returns the part of a task's work that is done, in [0, 1]: schedulers
// see it in the task's output.
func (s *State) Progress(t *TaskView) float64 {
	r := &s.sim.tasks[t.Index]
	return min(1, r.doneAt(s.sim.now)/float64(r.task.Work))
}

// Remaining returns how long the task would still run alone on the reference
// GPU, as predicted: its Length times what is not done.
func (s *State) Remaining(t *TaskView) time.Duration {
	return time.Duration(float64(t.Length) * (1 - s.Progress(t)))
}

// Seen returns the peak memory, on each of its GPUs, that monitoring shows of a task
// which has run for [Options].ObserveAfter. ok is false before that time. at is when
// it will be known.
func (s *State) Seen(t *TaskView) (peak profile.Bytes, at time.Duration, ok bool) {
	if !t.Running() {
		return 0, agenda.Never, false
	}
	at = agenda.Later(t.Since, s.sim.o.ObserveAfter)
	if at > s.sim.now {
		return 0, at, false
	}
	return s.sim.tasks[t.Index].task.Memory, at, true
}

// Attained returns the GPU time that the task has used: GPUs times the time that
// it ran.
func (s *State) Attained(t *TaskView) time.Duration {
	if !t.Running() {
		return t.Attained
	}
	return t.Attained + (s.sim.now-t.Since)*time.Duration(max(1, t.GPUs))
}

// Speeds predicts the work per unit of time of the tasks of a set if they shared
// gpu by mech; len(dst) == len(set). It returns an error for what the predicting
// model refuses.
func (s *State) Speeds(gpu *GPUView, mech profile.Mechanism, set []*TaskView, dst []float64) error {
	if len(set) != len(dst) {
		return fmt.Errorf("sim: Speeds: %d tasks and room for %d speeds", len(set), len(dst))
	}
	s.set = s.set[:0]
	for _, t := range set {
		s.set = append(s.set, s.sim.tasks[t.Index].task)
	}
	return speeds(s.sim.o.Predicted, gpu.GPU, mech, s.set, dst)
}

// WakeAt asks for a decision at a time that nothing else may happen at; the
// earliest call of a decision counts.
func (s *State) WakeAt(at time.Duration) {
	if at > s.sim.now {
		s.wake = min(s.wake, at)
	}
}

func (s *State) setIdle(g *GPUView) {
	bit := uint64(1) << (g.Index % 64)
	if g.Up && len(g.Set) == 0 {
		s.idle[g.Index/64] |= bit
	} else {
		s.idle[g.Index/64] &^= bit
	}
}
