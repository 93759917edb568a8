package runner

import (
	"cmp"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// slowQueue is the queue without any index: it looks at all tasks for every
// answer.
type slowQueue struct {
	tasks []*slowTask
}

type slowTask struct {
	task  Task
	state State
}

func (q *slowQueue) find(id string) *slowTask {
	return q.tasks[slices.IndexFunc(q.tasks, func(t *slowTask) bool { return t.task.ID == id })]
}

// settle cancels what waits for a success that will not come, until there is
// nothing left to cancel.
func (q *slowQueue) settle() {
	for again := true; again; {
		again = false
		for _, t := range q.tasks {
			for _, d := range t.task.After {
				if s := q.find(d.Task).state; t.state == Queued && !d.Any && (s == Failed || s == Cancelled) {
					t.state, again = Cancelled, true
				}
			}
		}
	}
}

// ready lists what may start, the first first.
func (q *slowQueue) ready() (ids []string) {
	var ready []*slowTask
	for _, t := range q.tasks {
		waits := slices.ContainsFunc(t.task.After, func(d Dependency) bool { return !q.find(d.Task).state.Over() })
		if t.state == Queued && !waits {
			ready = append(ready, t)
		}
	}
	slices.SortStableFunc(ready, func(a, b *slowTask) int { return cmp.Compare(b.task.Priority, a.task.Priority) })
	for _, t := range ready {
		ids = append(ids, t.task.ID)
	}
	return ids
}

// twins are a queue and its slow twin, treated alike.
type twins struct {
	fast *queue
	slow slowQueue
}

func (w *twins) add(t *rapid.T) {
	var entries []*entry
	for range rapid.IntRange(1, 4).Draw(t, "tasks") {
		number := len(w.slow.tasks) + 1
		task := Task{ID: strconv.Itoa(number), Priority: rapid.IntRange(-1, 1).Draw(t, "priority")}
		for i := range number - 1 {
			if rapid.IntRange(0, 4).Draw(t, "dependent") == 0 {
				task.After = append(task.After, Dependency{Task: strconv.Itoa(i + 1), Any: rapid.Bool().Draw(t, "any")})
			}
		}
		w.slow.tasks = append(w.slow.tasks, &slowTask{task: task})
		entries = append(entries, &entry{saved: saved{Record: Record{Task: task, Number: number}}})
	}
	w.fast.add(entries)
}

// pick chooses a task in one of the states.
func (w *twins) pick(t *rapid.T, states ...State) (*entry, *slowTask) {
	var found []int
	for i, s := range w.slow.tasks {
		if slices.Contains(states, s.state) {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		t.Skip("no such task")
	}
	i := rapid.SampledFrom(found).Draw(t, "task")
	return w.fast.entries[i], w.slow.tasks[i]
}

func (w *twins) start(t *rapid.T) {
	if len(w.fast.ready) == 0 {
		t.Skip("nothing may start")
	}
	e := w.fast.ready[rapid.IntRange(0, len(w.fast.ready)-1).Draw(t, "place")]
	w.fast.start(e)
	w.slow.find(e.Task.ID).state = Starting
}

func (w *twins) finish(t *rapid.T) {
	e, s := w.pick(t, Starting)
	s.state = rapid.SampledFrom([]State{Succeeded, Failed, Cancelled}).Draw(t, "end")
	over := w.fast.finish(e, s.state)
	before := w.over() - 1
	w.slow.settle()
	if got, want := len(over), w.over()-before; got != want {
		t.Fatalf("%d tasks are over, want %d", got, want)
	}
}

func (w *twins) over() (n int) {
	for _, s := range w.slow.tasks {
		if s.state.Over() {
			n++
		}
	}
	return n
}

func (w *twins) cancel(t *rapid.T) {
	e, s := w.pick(t, Queued)
	s.state = Cancelled
	w.fast.finish(e, Cancelled)
}

func (w *twins) again(t *rapid.T) {
	e, s := w.pick(t, Starting)
	s.state = Queued
	w.fast.again(e)
}

func (w *twins) retry(t *rapid.T) {
	var again []*entry
	for i, s := range w.slow.tasks {
		if (s.state == Failed || s.state == Cancelled) && rapid.Bool().Draw(t, "again") {
			s.state = Queued
			again = append(again, w.fast.entries[i])
		}
	}
	w.fast.retry(again)
}

// reopen leaves the queue and takes it up again from its records.
func (w *twins) reopen(*rapid.T) {
	var entries []*entry
	for _, e := range w.fast.entries {
		entries = append(entries, &entry{saved: e.saved})
	}
	w.fast = newQueue(entries)
}

// check compares the two.
func (w *twins) check(t *rapid.T) {
	w.slow.settle()
	for i, s := range w.slow.tasks {
		if got := w.fast.entries[i].State; got != s.state {
			t.Fatalf("task %s is %v, want %v", s.task.ID, got, s.state)
		}
	}
	var got []string
	for _, e := range w.fast.ready {
		got = append(got, e.Task.ID)
	}
	if want := w.slow.ready(); !slices.Equal(got, want) {
		t.Fatalf("ready is %v, want %v", got, want)
	}
	active := 0
	for _, s := range w.slow.tasks {
		if s.state == Starting {
			active++
		}
	}
	if w.fast.active != active || w.fast.left() != len(w.slow.tasks)-w.over() {
		t.Fatalf("%d active, %d left, want %d and %d", w.fast.active, w.fast.left(), active, len(w.slow.tasks)-w.over())
	}
}

func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &twins{fast: newQueue(nil)}
		t.Repeat(map[string]func(*rapid.T){
			"add": w.add, "start": w.start, "finish": w.finish, "cancel": w.cancel,
			"again": w.again, "retry": w.retry, "reopen": w.reopen, "": w.check,
		})
	})
}
