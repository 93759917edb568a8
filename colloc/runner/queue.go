package runner

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/runner/internal/progress"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/profile"
)

// entry is one task in the queue.
type entry struct {
	saved
	profile *profile.Profile // nil if nothing is known
	blocked int              // dependencies that are not over
	// dependents wait for this task.
	dependents []*entry
	unknown    bool // the Planner cannot tell its memory
	overtaken  int  // how many later tasks started since it was the first to wait
	// adopted says that a former runner started its present run.
	adopted  bool
	victims  profile.Opt[int64] // of lack of host memory, when its present run began
	termAt   time.Time          // when it was asked to end; zero if it was not
	killed   bool               // it got SIGKILL
	dirty    bool               // the queue file is behind
	gone     bool               // all processes of its present run are, with their host
	keeper   int                // the process and session of its supervisor; 0 if it is not known
	port     int                // where its processes meet, if it has several GPUs
	told     bool               // or it was there to get SIGTERM, as far as is known
	follower progress.Follower
	// restarted is when its count of steps was seen to begin anew, cycle the time
	// between the last two of those; zero if they are not known.
	restarted time.Time
	cycle     time.Duration
}

// queue is the tasks and which of them may start. It neither reads nor writes
// anything else.
type queue struct {
	entries []*entry // by number
	byID    map[string]*entry
	ready   []*entry // may start, the first first
	active  []*entry // Starting or Running, in the order they started
	over    int
}

// order is by priority, then by submission.
func order(a, b *entry) int {
	return cmp.Or(cmp.Compare(b.Task.Priority, a.Task.Priority), cmp.Compare(a.Number, b.Number))
}

// newQueue takes tasks as they were left.
func newQueue(entries []*entry) *queue {
	q := &queue{entries: entries, byID: make(map[string]*entry, len(entries))}
	for _, e := range entries {
		q.byID[e.Task.ID] = e
	}
	for _, e := range entries {
		switch {
		case e.State.Over():
			q.over++
		case e.State == Queued:
			q.link(e) // its dependencies were good enough when the queue was left
			q.wait(e)
		default:
			q.active = append(q.active, e)
		}
	}
	return q
}

// freeID returns the number of the next task as an ID, or what comes after it if
// a task has that name already.
func (q *queue) freeID(number int, taken map[string]bool) string {
	for n := number; ; n++ {
		id := strconv.Itoa(n)
		if q.byID[id] == nil && !taken[id] {
			return id
		}
	}
}

// add appends tasks whose dependencies are known, and returns those that can
// never run because one of these failed.
func (q *queue) add(entries []*entry) (hopeless []*entry) {
	for _, e := range entries {
		q.entries = append(q.entries, e)
		q.byID[e.Task.ID] = e
	}
	for _, e := range entries {
		switch {
		case e.State == Starting: // it had been
			q.active = append(q.active, e)
		case !e.State.Over():
			hopeless = append(hopeless, q.enqueue(e)...)
		}
	}
	return hopeless
}

// enqueue makes e wait for its dependencies and then for its turn.
func (q *queue) enqueue(e *entry) (hopeless []*entry) {
	if !q.link(e) {
		return q.finish(e, Cancelled)
	}
	q.wait(e)
	return nil
}

// link counts the dependencies that e waits for; false if one ended badly.
func (q *queue) link(e *entry) bool {
	e.blocked = 0
	hope := true
	for _, d := range e.Task.After {
		other := q.byID[d.Task]
		switch {
		case !other.State.Over():
			e.blocked++
			if !slices.Contains(other.dependents, e) { // it may have waited before
				other.dependents = append(other.dependents, e)
			}
		case other.State != Succeeded && !d.Any:
			hope = false
		}
	}
	return hope
}

// wait puts a Queued task among those that may start, if it may.
func (q *queue) wait(e *entry) {
	if e.blocked > 0 {
		return
	}
	at, found := slices.BinarySearchFunc(q.ready, e, order)
	if !found {
		q.ready = slices.Insert(q.ready, at, e)
	}
}

// start takes a task that may start and begins a run.
func (q *queue) start(e *entry) {
	q.leave(e)
	e.State = Starting
	e.Runs++
	q.active = append(q.active, e)
}

// leave takes e out of those that may start.
func (q *queue) leave(e *entry) {
	if at, found := slices.BinarySearchFunc(q.ready, e, order); found {
		q.ready = slices.Delete(q.ready, at, at+1)
	}
}

// again queues a task whose run is over.
func (q *queue) again(e *entry) {
	q.stopped(e)
	e.State = Queued
	q.link(e) // what it waited for may be queued again; what had to succeed did
	q.wait(e)
}

// stopped takes e out of those that run.
func (q *queue) stopped(e *entry) {
	q.active = slices.DeleteFunc(q.active, func(other *entry) bool { return other == e })
}

// finish ends a task, however it stood, and returns all that are over now: e,
// and those that waited for its success in vain.
func (q *queue) finish(e *entry, state State) (over []*entry) {
	switch e.State {
	case Starting, Running:
		q.stopped(e)
	default:
		q.leave(e)
	}
	e.State = state
	q.over++
	over = append(over, e)
	dependents := e.dependents
	e.dependents = nil
	for _, d := range dependents {
		if d.State != Queued {
			continue // it was cancelled meanwhile
		}
		if d.blocked--; state != Succeeded && !d.bears(e) {
			over = append(over, q.finish(d, Cancelled)...)
			continue
		}
		q.wait(d)
	}
	return over
}

// bears reports whether e may run although the other did not succeed.
func (e *entry) bears(other *entry) bool {
	return !slices.ContainsFunc(e.Task.After, func(d Dependency) bool {
		return d.Task == other.Task.ID && !d.Any
	})
}

// retry queues tasks that are over again and returns those that cannot run
// because a dependency still failed. Those that wait for one of them, or had done
// so, wait again. O(tasks).
func (q *queue) retry(entries []*entry) (hopeless []*entry) {
	for _, e := range entries {
		e.State = Queued
		q.over--
	}
	for _, e := range q.entries {
		if e.State == Queued {
			q.leave(e)
			hopeless = append(hopeless, q.enqueue(e)...)
		}
	}
	return hopeless
}

// left is the number of tasks that are not over.
func (q *queue) left() int { return len(q.entries) - q.over }

// saved is a record as it is kept in the queue file, with what only the runner
// needs to know.
type saved struct {
	Record
	// Profile is the key of the task's profile; empty if it has none.
	ProfileKey []byte `json:"profile,omitempty"`
	// Env is the task's, kept out of records that others see.
	Env []string `json:"env,omitempty"`
	// Raised is what to reserve instead of Task.Memory since memory ran out.
	Raised profile.Bytes `json:"raised,omitempty"`
	// Avoid is the mechanism under which memory ran out.
	Avoid profile.Opt[profile.Mechanism] `json:"avoid,omitzero"`
	// Stop is why the run is being ended; it survives the runner.
	Stop stopReason `json:"stop,omitempty"`
}

// argv is what is run: the command, or a shell that reads it.
func (e *entry) argv() []string {
	if e.Task.Shell {
		return append([]string{"/bin/sh", "-c", e.Task.Command[0], "sh"}, e.Task.Command[1:]...)
	}
	return e.Task.Command
}

// reserve is what is set aside for the task; 0 lets the Planner predict it.
func (e *entry) reserve() profile.Bytes {
	if e.Raised > 0 {
		return e.Raised
	}
	return e.Task.Memory
}

// stem is what the names of the files of a task's present run begin with.
func (e *entry) stem() string { return strings.TrimSuffix(e.Log, supervise.LogEnd) }

// stopReason is why a run is being ended.
type stopReason int

const (
	stopKilled stopReason = iota + 1
	stopHalted
	stopTimeout
	stopLostGPU
	stopSpared // was to be killed, and may go on if it did not end
)
