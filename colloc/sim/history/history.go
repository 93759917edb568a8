package history

import (
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// What is known of a kind that has not been seen, and of one that runs.
const (
	// unseenLength is predicted while no task ended. Once some have, tasks of an unseen kind
	// are predicted to be as long as all of them on average.
	unseenLength = time.Hour
	// seenAfter is how long a task must have run for its peak memory to be seen.
	seenAfter = time.Minute
)

// margin is what is set aside beyond the highest peak that was seen of a kind.
const margin = 1.05

// History is what has been seen of a day. It is not safe for concurrent use.
type History struct {
	now     time.Duration
	tasks   map[string]*sim.Task
	kinds   map[string]*kind
	all     mean
	watched []start // whose memory will be seen, in the order of their starts
}

// kind is what was seen of tasks that are alike.
type kind struct {
	lengths mean
	peak    profile.Bytes
	seen    bool // peak is known
}

// start is a task that began to run.
type start struct {
	at   time.Duration
	task *sim.Task
}

// mean is a geometric mean.
type mean struct {
	sum float64 // of logarithms
	n   int
}

func (m *mean) add(d time.Duration) { m.sum, m.n = m.sum+math.Log(float64(d)), m.n+1 }

func (m *mean) value() time.Duration { return time.Duration(math.Exp(m.sum / float64(m.n))) }

// New returns a History that has seen nothing of some tasks.
func New(tasks []sim.Task) *History {
	h := &History{tasks: make(map[string]*sim.Task, len(tasks)), kinds: map[string]*kind{}}
	for i := range tasks {
		h.tasks[tasks[i].ID] = &tasks[i]
	}
	return h
}

// of is the kind of a task: its Type, or its User's tasks if it has none.
func (h *History) of(t *sim.Task) *kind {
	name := "user " + t.User
	if t.Type != "" {
		name = "type " + t.Type
	}
	if h.kinds[name] == nil {
		h.kinds[name] = &kind{}
	}
	return h.kinds[name]
}

// Length is a [sim.Options] Length: the geometric mean of the lengths of those of the
// task's kind that finished.
func (h *History) Length(t *sim.Task) time.Duration {
	switch k := h.of(t); {
	case k.lengths.n > 0:
		return k.lengths.value()
	case h.all.n > 0:
		return h.all.value()
	}
	return unseenLength
}

// Memory returns a [sim.Options] Reserve or Likely: 5 % more than the highest peak that
// monitoring showed of the task's kind, and of an unseen kind what unseen says; nil is
// what the task truly needs.
func (h *History) Memory(unseen func(*sim.Task) profile.Bytes) func(*sim.Task) profile.Bytes {
	return func(t *sim.Task) profile.Bytes {
		switch k := h.of(t); {
		case k.seen:
			return profile.BytesOf(float64(k.peak) * margin)
		case unseen == nil:
			return t.Memory
		}
		return unseen(t)
	}
}

// Note is a [sim.Options] OnEvent: it learns from tasks that finish, and from those that
// run for long enough.
func (h *History) Note(e *sim.Event) {
	h.now = e.At
	for len(h.watched) > 0 && h.watched[0].at <= h.now-seenAfter {
		h.see(h.watched[0].task)
		h.watched = h.watched[1:]
	}
	t := h.tasks[e.Task]
	if t == nil {
		return
	}
	switch e.Kind {
	case sim.Start, sim.Recovery:
		h.watched = append(h.watched, start{e.At, t})
	case sim.Finish:
		if t.Service == nil { // whose length says when somebody ended it
			h.of(t).lengths.add(t.Work)
			h.all.add(t.Work)
		}
		h.see(t)
	case sim.Preemption, sim.OutOfMemory, sim.GPULoss, sim.Failure:
		h.forget(t)
	default:
	}
}

// see takes in the peak memory of a task.
func (h *History) see(t *sim.Task) {
	k := h.of(t)
	k.peak, k.seen = max(k.peak, t.Memory), true
}

// forget no longer watches a task.
func (h *History) forget(t *sim.Task) {
	h.watched = slices.DeleteFunc(h.watched, func(s start) bool { return s.task == t })
}
