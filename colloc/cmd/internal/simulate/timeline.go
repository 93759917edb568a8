package simulate

import (
	"slices"
	"time"

	"example.com/colloc/colloc/sim"
)

// timeline is what ran on each GPU when.
type timeline struct {
	open  [][]string       // per GPU, the tasks that run there now
	since []time.Duration  // per GPU, when that last changed
	spans [][]span         // per GPU
	on    map[string][]int // the GPUs of each running task
	marks []mark
	// moving is where tasks were when they were preempted.
	moving map[string]bool
}

// span is a stretch of time in which the same tasks shared a GPU.
type span struct {
	From, To time.Duration
	Tasks    []string
}

// mark is a moment at which something went wrong or moved on a GPU.
type mark struct {
	At   time.Duration
	GPU  int
	Kind string // death, move, loss
	Task string
}

// maxTimelineGPUs is how many GPUs are drawn: more are too thin to be seen.
const maxTimelineGPUs = 64

func newTimeline(gpus int) *timeline {
	n := min(gpus, maxTimelineGPUs)
	return &timeline{
		open: make([][]string, n), since: make([]time.Duration, n), spans: make([][]span, n),
		on: make(map[string][]int), moving: make(map[string]bool),
	}
}

// note follows one event of a simulation.
func (t *timeline) note(e *sim.Event) {
	switch e.Kind {
	case sim.Start, sim.Recovery:
		t.on[e.Task] = slices.Clone(e.GPUs)
		if t.moving[e.Task] {
			t.mark(e.At, e.GPUs, "move", e.Task)
			delete(t.moving, e.Task)
		}
		for _, g := range e.GPUs {
			t.change(g, e.At, func(tasks []string) []string { return append(slices.Clone(tasks), e.Task) })
		}
	case sim.Finish, sim.Preemption, sim.OutOfMemory, sim.Failure, sim.GPULoss:
		switch {
		case e.Kind == sim.OutOfMemory:
			t.mark(e.At, t.on[e.Task], "death", e.Task)
		case e.Kind == sim.Preemption:
			t.moving[e.Task] = true
		case e.Kind == sim.GPULoss && e.Task == "": // the loss itself
			t.mark(e.At, e.GPUs, "loss", "")
		}
		for _, g := range t.on[e.Task] {
			t.change(g, e.At, func(tasks []string) []string {
				return slices.DeleteFunc(slices.Clone(tasks), func(s string) bool { return s == e.Task })
			})
		}
		delete(t.on, e.Task)
	default:
	}
}

// mark notes something on the GPUs that are drawn.
func (t *timeline) mark(at time.Duration, gpus []int, kind, task string) {
	for _, g := range gpus {
		if g < len(t.open) {
			t.marks = append(t.marks, mark{at, g, kind, task})
		}
	}
}

// change closes the span of a GPU and opens the next.
func (t *timeline) change(gpu int, at time.Duration, edit func([]string) []string) {
	if gpu < 0 || gpu >= len(t.open) {
		return
	}
	before := t.open[gpu]
	tasks := edit(before)
	if len(tasks) == len(before) {
		return
	}
	if len(before) > 0 && at > t.since[gpu] {
		t.spans[gpu] = append(t.spans[gpu], span{t.since[gpu], at, before})
	}
	t.open[gpu], t.since[gpu] = tasks, at
}

// finish closes what is still open.
func (t *timeline) finish(at time.Duration) {
	for g := range t.open {
		t.change(g, at, func([]string) []string { return nil })
	}
}
