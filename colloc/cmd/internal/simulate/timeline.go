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
}

// span is a stretch of time in which the same number of tasks shared a GPU.
type span struct {
	From, To time.Duration
	Tasks    int
}

// maxTimelineGPUs is how many GPUs are drawn: more are too thin to be seen.
const maxTimelineGPUs = 64

func newTimeline(gpus int) *timeline {
	n := min(gpus, maxTimelineGPUs)
	return &timeline{
		open: make([][]string, n), since: make([]time.Duration, n), spans: make([][]span, n),
		on: make(map[string][]int),
	}
}

// note follows one event of a simulation.
func (t *timeline) note(e *sim.Event) {
	switch e.Kind {
	case sim.Start, sim.Recovery:
		t.on[e.Task] = slices.Clone(e.GPUs)
		for _, g := range e.GPUs {
			t.change(g, e.At, func(tasks []string) []string { return append(tasks, e.Task) })
		}
	case sim.Finish, sim.Preemption, sim.OutOfMemory, sim.Failure, sim.GPULoss: // the loss itself names no task
		for _, g := range t.on[e.Task] {
			t.leave(g, e.At, e.Task)
		}
		delete(t.on, e.Task)
	default:
	}
}

func (t *timeline) leave(gpu int, at time.Duration, task string) {
	t.change(gpu, at, func(tasks []string) []string {
		return slices.DeleteFunc(tasks, func(s string) bool { return s == task })
	})
}

// change closes the span of a GPU and opens the next.
func (t *timeline) change(gpu int, at time.Duration, edit func([]string) []string) {
	if gpu < 0 || gpu >= len(t.open) {
		return
	}
	before := len(t.open[gpu])
	tasks := edit(t.open[gpu])
	if len(tasks) == before {
		t.open[gpu] = tasks
		return
	}
	if before > 0 && at > t.since[gpu] {
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
