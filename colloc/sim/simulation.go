package sim

import (
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc/sim/internal/agenda"
	"example.com/colloc/colloc/sim/internal/quota"
	"example.com/colloc/profile"
)

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
	gate        *quota.Gate
	timers      agenda.Timers
	gpus        []runGPU
	world       []worldEvent // by time
	meter       meter

	dirty    []int // GPUs whose set changed
	affected []int // tasks on them
	crowded  []int // machines whose cores are shared otherwise
	set      []*Task
	dst      []float64
	event    Event
	obs      CoRun
	fault    error // of a learner
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
	kind EventKind // GPULoss, GPUReturn; 0 is a wake-up
}

// addGPU makes a GPU known, up and empty.
func (s *simulation) addGPU(g *GPU, node int) {
	st := &s.state
	view := &GPUView{Index: len(st.gpus), Node: node, GPU: g, Up: true, Total: g.memory()}
	st.gpus = append(st.gpus, view)
	s.gpus = append(s.gpus, runGPU{view: view, watts: g.watts(0), since: s.now})
	if len(st.gpus) > len(st.idle)*64 {
		st.idle = append(st.idle, 0)
	}
	st.setIdle(view)
}

// wait puts a task into the queue.
func (s *simulation) wait(i int) {
	v := &s.state.tasks[i]
	v.status, v.Since = waiting, s.now
	s.state.waiting.Push(i)
	s.state.arrived = append(s.state.arrived, v)
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

// runGPU is the truth about a GPU.
type runGPU struct {
	view   *GPUView
	speeds []float64 // of view.Set, on this GPU
	solo   []float64 // of view.Set, alone on this GPU; negative is unknown
	used   profile.Bytes
	dirty  bool
	down   int // losses that are not over
	// what the meter charges, and since when
	since              time.Duration
	watts, busy, taken float64
	occupied           bool
	setSince           time.Duration // the set is that since then
}

// rate is the work per unit of time: a service is up or not.
func (r *runTask) rate() float64 {
	if r.task.Service != nil && r.speed > 0 {
		return 1
	}
	return r.speed
}

// doneAt is the work done at a moment.
func (r *runTask) doneAt(now time.Duration) float64 {
	from := max(r.last, r.ready)
	if now <= from || r.speed == 0 {
		return r.done
	}
	return min(float64(r.task.Work), r.done+float64(r.rate()*float64(now-from)))
}

// settle brings a task's progress up to now.
func (s *simulation) settle(r *runTask) {
	r.done, r.last = r.doneAt(s.now), s.now
}

// forecast says when a task finishes at its speed.
func (s *simulation) forecast(i int) {
	r := &s.tasks[i]
	r.finish = agenda.Never
	if r.speed > 0 {
		from := max(r.last, r.ready)
		if s.o.RestartAll { // the start-up is paid at the next decision
			from = r.last
		}
		left := math.Ceil((float64(r.task.Work) - r.done) / r.rate())
		if left < float64(agenda.Never-from) {
			r.finish = max(s.now, from+time.Duration(left))
		}
	}
	s.rearm(i)
}

// rearm sets a task's timer to what comes first.
func (s *simulation) rearm(i int) {
	r := &s.tasks[i]
	s.timers.Set(i, min(r.finish, r.oom, r.checkpoint))
}
