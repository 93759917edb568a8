package backlog

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/colloc/runner/queue"
)

// slowQueue is the queue without any index: it looks at all tasks for every
// answer.
type slowQueue struct {
	tasks []*slowTask
}

type slowTask struct {
	task  queue.Task
	state queue.State
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
				if s := q.find(d.Task).state; t.state == queue.Queued && !d.Any && (s == queue.Failed || s == queue.Cancelled) {
					t.state, again = queue.Cancelled, true
				}
			}
		}
	}
}

// ready lists what may start, the first first.
func (q *slowQueue) ready() (ids []string) {
	var ready []*slowTask
	for _, t := range q.tasks {
		waits := slices.ContainsFunc(t.task.After, func(d queue.Dependency) bool { return !q.find(d.Task).state.Over() })
		if t.state == queue.Queued && !waits {
			ready = append(ready, t)
		}
	}
	slices.SortStableFunc(ready, func(a, b *slowTask) int { return cmp.Compare(b.task.Priority, a.task.Priority) })
	for _, t := range ready {
		ids = append(ids, t.task.ID)
	}
	return ids
}

// twins are a queue and its slow twin, treated alike, at random. A random walk
// is enough, and package rapid is not used here: its initialisation would double
// the cost of each of the thousands of supervisors that this test binary becomes.
type twins struct {
	*rand.Rand

	fast *Queue
	slow slowQueue
}

// chance is true one time in n.
func (w *twins) chance(n int) bool { return w.IntN(n) == 0 }

func (w *twins) add(*testing.T) {
	var entries []*Entry
	for range 1 + w.IntN(4) {
		number := len(w.slow.tasks) + 1
		task := queue.Task{ID: strconv.Itoa(number), Priority: w.IntN(3) - 1}
		for i := range number - 1 {
			if w.chance(5) {
				task.After = append(task.After, queue.Dependency{Task: strconv.Itoa(i + 1), Any: w.chance(2)})
			}
		}
		w.slow.tasks = append(w.slow.tasks, &slowTask{task: task})
		entries = append(entries, &Entry{Saved: Saved{Record: queue.Record{Task: task, Number: number}}})
	}
	w.fast.Add(entries)
}

// pick chooses a task in one of the states; nil if there is none.
func (w *twins) pick(states ...queue.State) (*Entry, *slowTask) {
	var found []int
	for i, s := range w.slow.tasks {
		if slices.Contains(states, s.state) {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	i := found[w.IntN(len(found))]
	return w.fast.Entries[i], w.slow.tasks[i]
}

func (w *twins) start(t *testing.T) {
	t.Helper()
	if len(w.fast.Ready) > 0 {
		e := w.fast.Ready[w.IntN(len(w.fast.Ready))]
		runs := e.Runs
		if w.fast.Start(e); e.Runs != runs+1 {
			t.Errorf("task %s has begun %d runs, and had %d before", e.Task.ID, e.Runs, runs)
		}
		w.slow.find(e.Task.ID).state = queue.Starting
	}
}

func (w *twins) finish(t *testing.T) {
	t.Helper()
	e, s := w.pick(queue.Starting)
	if e == nil {
		return
	}
	s.state = []queue.State{queue.Succeeded, queue.Failed, queue.Cancelled}[w.IntN(3)]
	over := w.fast.Finish(e, s.state)
	before := w.over() - 1
	w.slow.settle()
	if got, want := len(over), w.over()-before; got != want {
		t.Errorf("%d tasks are over, want %d", got, want)
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

func (w *twins) cancel(*testing.T) {
	if e, s := w.pick(queue.Queued); e != nil {
		s.state = queue.Cancelled
		w.fast.Finish(e, queue.Cancelled)
	}
}

func (w *twins) again(*testing.T) {
	if e, s := w.pick(queue.Starting); e != nil {
		s.state = queue.Queued
		w.fast.Again(e)
	}
}

func (w *twins) retry(*testing.T) {
	var again []*Entry
	for i, s := range w.slow.tasks {
		if (s.state == queue.Failed || s.state == queue.Cancelled) && w.chance(2) {
			s.state = queue.Queued
			again = append(again, w.fast.Entries[i])
		}
	}
	w.fast.Retry(again)
}

// reopen leaves the queue and takes it up again from its records.
func (w *twins) reopen(*testing.T) {
	var entries []*Entry
	for _, e := range w.fast.Entries {
		entries = append(entries, &Entry{Saved: e.Saved})
	}
	w.fast = New(entries)
}

// check compares the two.
func (w *twins) check(t *testing.T) {
	t.Helper()
	w.slow.settle()
	for i, s := range w.slow.tasks {
		if got := w.fast.Entries[i].State; got != s.state {
			t.Errorf("task %s is %v, want %v", s.task.ID, got, s.state)
		}
	}
	var got []string
	for _, e := range w.fast.Ready {
		got = append(got, e.Task.ID)
	}
	if want := w.slow.ready(); !slices.Equal(got, want) {
		t.Errorf("ready is %v, want %v", got, want)
	}
	active := 0
	for _, s := range w.slow.tasks {
		if s.state == queue.Starting {
			active++
		}
	}
	if len(w.fast.Active) != active || w.fast.Left() != len(w.slow.tasks)-w.over() {
		t.Errorf("%d active, %d left, want %d and %d", len(w.fast.Active), w.fast.Left(), active, len(w.slow.tasks)-w.over())
	}
}

func TestQueue(t *testing.T) {
	const walks, steps = 400, 60
	for seed := range uint64(walks) {
		w := &twins{Rand: rand.New(rand.NewPCG(seed, 7)), fast: New(nil)}
		moves := []func(*testing.T){w.add, w.start, w.start, w.start, w.finish, w.finish, w.cancel, w.again, w.retry, w.reopen}
		for range steps {
			i := w.IntN(len(moves))
			if moves[i](t); len(w.slow.tasks) > 40 {
				break // it grows no further
			}
			w.check(t)
			if t.Failed() {
				t.Fatalf("walk with seed %d", seed)
			}
		}
	}
}

// TestOld: the oldest of those that are over and written move on, but none that another
// waits for, and so many stay.
func TestOld(t *testing.T) {
	q := New([]*Entry{
		{Saved: Saved{Record: queue.Record{Task: queue.Task{ID: "a"}, Number: 1, State: queue.Succeeded}}},
		{Saved: Saved{Record: queue.Record{Task: queue.Task{ID: "needed"}, Number: 2, State: queue.Succeeded}}},
		{Saved: Saved{Record: queue.Record{Task: queue.Task{ID: "waits", After: []queue.Dependency{{Task: "needed"}}}, Number: 3}}},
		{Saved: Saved{Record: queue.Record{Task: queue.Task{ID: "dirty"}, Number: 4, State: queue.Failed}}, Dirty: true},
		{Saved: Saved{Record: queue.Record{Task: queue.Task{ID: "b", After: []queue.Dependency{{Task: "a"}}}, Number: 5, State: queue.Failed}}},
	})
	for _, tt := range []struct {
		keep, most int
		want       string
	}{{0, 9, "a b"}, {2, 9, "a b"}, {3, 9, "a"}, {4, 9, ""}, {0, 1, "a"}, {9, 9, ""}} {
		var got []string
		for _, e := range q.Old(tt.keep, tt.most) {
			got = append(got, e.Task.ID)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%d stay, %d at most: %q, want %q", tt.keep, tt.most, got, tt.want)
		}
	}
}

// TestBackAgain: what moved to the history is not in the queue, and what comes back from there
// is in its place again; a run that was left by another queue is among those that run.
func TestBackAgain(t *testing.T) {
	entry := func(n int, state queue.State) *Entry {
		return &Entry{Saved: Saved{Record: queue.Record{Task: queue.Task{ID: strconv.Itoa(n)}, Number: n, State: state}}}
	}
	all := []*Entry{entry(1, queue.Succeeded), entry(2, queue.Failed), entry(3, queue.Succeeded), entry(4, queue.Queued)}
	q := New(slices.Clone(all))
	q.Remove(all[1:2])
	if q.ByID["2"] != nil || !slices.Equal(q.Entries, []*Entry{all[0], all[2], all[3]}) || q.Over() != 2 {
		t.Errorf("without the second: %v, %d over", q.Entries, q.Over())
	}
	q.Restore(all[1])
	if q.ByID["2"] != all[1] || !slices.Equal(q.Entries, all) || q.Over() != 3 {
		t.Errorf("with the second again: %v, %d over", q.Entries, q.Over())
	}
	left := entry(5, queue.Starting)
	if q.Add([]*Entry{left}); !slices.Equal(q.Active, []*Entry{left}) || slices.Contains(q.Ready, left) || q.Last != 5 {
		t.Errorf("active %v, ready %v, last %d", q.Active, q.Ready, q.Last)
	}
}
