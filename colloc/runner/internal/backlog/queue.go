package backlog

import (
	"cmp"
	"slices"
	"strconv"

	"example.com/colloc/colloc/runner/queue"
)

// Queue is the tasks and which of them may start. It neither reads nor writes
// anything else.
type Queue struct {
	Entries []*Entry // by number, which need not be dense
	Last    int      // the largest number that was ever given
	ByID    map[string]*Entry
	Ready   []*Entry // may start, the first first
	Active  []*Entry // Starting or Running, in the order they started
	over    int
}

// order is by priority, then by submission.
func order(a, b *Entry) int {
	return cmp.Or(cmp.Compare(b.Task.Priority, a.Task.Priority), cmp.Compare(a.Number, b.Number))
}

// New takes tasks as they were left.
func New(entries []*Entry) *Queue {
	q := &Queue{Entries: entries, ByID: make(map[string]*Entry, len(entries))}
	for _, e := range entries {
		q.ByID[e.Task.ID] = e
		q.Last = max(q.Last, e.Number)
	}
	for _, e := range entries {
		switch {
		case e.State.Over():
			q.over++
		case e.State == queue.Queued:
			q.link(e) // its dependencies were good enough when the queue was left
			q.Wait(e)
		default:
			q.Active = append(q.Active, e)
		}
	}
	return q
}

// FreeID returns the number of the next task as an ID, or what comes after it if
// a task has that name already.
func (q *Queue) FreeID(number int, taken map[string]bool) string {
	for n := number; ; n++ {
		id := strconv.Itoa(n)
		if q.ByID[id] == nil && !taken[id] {
			return id
		}
	}
}

// Add appends tasks whose dependencies are known, and returns those that can
// never run because one of these failed.
func (q *Queue) Add(entries []*Entry) (hopeless []*Entry) {
	for _, e := range entries {
		q.Entries = append(q.Entries, e)
		q.ByID[e.Task.ID] = e
		q.Last = max(q.Last, e.Number)
	}
	for _, e := range entries {
		switch {
		case e.State == queue.Starting: // it had been
			q.Active = append(q.Active, e)
		case !e.State.Over():
			hopeless = append(hopeless, q.enqueue(e)...)
		}
	}
	return hopeless
}

// enqueue makes e wait for its dependencies and then for its turn.
func (q *Queue) enqueue(e *Entry) (hopeless []*Entry) {
	if !q.link(e) {
		return q.Finish(e, queue.Cancelled)
	}
	q.Wait(e)
	return nil
}

// link counts the dependencies that e waits for; false if one ended badly.
func (q *Queue) link(e *Entry) bool {
	e.blocked = 0
	hope := true
	for _, d := range e.Task.After {
		other := q.ByID[d.Task]
		switch {
		case !other.State.Over():
			e.blocked++
			if !slices.Contains(other.dependents, e) { // it may have waited before
				other.dependents = append(other.dependents, e)
			}
		case other.State != queue.Succeeded && !d.Any:
			hope = false
		}
	}
	return hope
}

// Wait puts a Queued task among those that may start, if it may.
func (q *Queue) Wait(e *Entry) {
	if e.blocked > 0 || e.Task.Held {
		return
	}
	at, found := slices.BinarySearchFunc(q.Ready, e, order)
	if !found {
		q.Ready = slices.Insert(q.Ready, at, e)
	}
}

// Start takes a task that may start and begins a run.
func (q *Queue) Start(e *Entry) {
	q.Leave(e)
	e.State = queue.Starting
	e.Runs++
	q.Active = append(q.Active, e)
}

// Leave takes e out of those that may start.
func (q *Queue) Leave(e *Entry) {
	if at, found := slices.BinarySearchFunc(q.Ready, e, order); found {
		q.Ready = slices.Delete(q.Ready, at, at+1)
	}
}

// Again queues a task whose run is over.
func (q *Queue) Again(e *Entry) {
	q.stopped(e)
	e.State = queue.Queued
	q.link(e) // what it waited for may be queued again; what had to succeed did
	q.Wait(e)
}

// stopped takes e out of those that run.
func (q *Queue) stopped(e *Entry) {
	q.Active = slices.DeleteFunc(q.Active, func(other *Entry) bool { return other == e })
}

// Finish ends a task, however it stood, and returns all that are over now: e,
// and those that waited for its success in vain.
func (q *Queue) Finish(e *Entry, state queue.State) (over []*Entry) {
	switch e.State {
	case queue.Starting, queue.Running:
		q.stopped(e)
	default:
		q.Leave(e)
	}
	e.State = state
	q.over++
	over = append(over, e)
	dependents := e.dependents
	e.dependents = nil
	for _, d := range dependents {
		if d.State != queue.Queued {
			continue // it was cancelled meanwhile
		}
		if d.blocked--; state != queue.Succeeded && !d.bears(e) {
			over = append(over, q.Finish(d, queue.Cancelled)...)
			continue
		}
		q.Wait(d)
	}
	return over
}

// Retry queues tasks that are over again and returns those that cannot run
// because a dependency still failed. Those that wait for one of them, or had done
// so, wait again. O(tasks).
func (q *Queue) Retry(entries []*Entry) (hopeless []*Entry) {
	for _, e := range entries {
		e.State = queue.Queued
		q.over--
	}
	for _, e := range q.Entries {
		if e.State == queue.Queued {
			q.Leave(e)
			hopeless = append(hopeless, q.enqueue(e)...)
		}
	}
	return hopeless
}

// Left is the number of tasks that are not over.
func (q *Queue) Left() int { return len(q.Entries) - q.over }

// Old returns up to most of the tasks that are over and that no other waits for, the first
// submitted first, so that keep stay. O(tasks).
func (q *Queue) Old(keep, most int) (old []*Entry) {
	needed := make(map[string]bool)
	for _, e := range q.Entries {
		if !e.State.Over() {
			for _, d := range e.Task.After {
				needed[d.Task] = true
			}
		}
	}
	left := min(most, q.over-keep)
	for _, e := range q.Entries {
		if len(old) >= left {
			break
		}
		if e.State.Over() && !needed[e.Task.ID] && !e.Dirty {
			old = append(old, e)
		}
	}
	return old
}

// Over is the number of tasks that are.
func (q *Queue) Over() int { return q.over }

// Remove forgets tasks that are over. O(tasks).
func (q *Queue) Remove(entries []*Entry) {
	for _, e := range entries {
		delete(q.ByID, e.Task.ID)
	}
	q.Entries = slices.DeleteFunc(q.Entries, func(e *Entry) bool { return q.ByID[e.Task.ID] != e })
	q.over -= len(entries)
}

// Restore takes a task back that is over. O(tasks).
func (q *Queue) Restore(e *Entry) {
	at, _ := slices.BinarySearchFunc(q.Entries, e, func(a, b *Entry) int { return cmp.Compare(a.Number, b.Number) })
	q.Entries = slices.Insert(q.Entries, at, e)
	q.ByID[e.Task.ID] = e
	q.over++
}
