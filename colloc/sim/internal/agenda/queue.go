package agenda

import "iter"

// Queue is a list of tasks in the order in which they came, with removal from
// anywhere in O(1).
type Queue struct {
	items []int32 // -1 where a task left
	at    []int32 // by task: its place in items
	head  int     // no task is before it
	live  int
}

// NewQueue returns an empty queue of tasks below a number.
func NewQueue(tasks int) Queue {
	return Queue{at: make([]int32, tasks)}
}

// Push adds a task that is not there at the end.
func (q *Queue) Push(task int) {
	q.at[task] = int32(len(q.items))
	q.items = append(q.items, int32(task))
	q.live++
}

// Remove takes out a task that is there.
func (q *Queue) Remove(task int) {
	q.items[q.at[task]] = -1
	q.live--
	for q.head < len(q.items) && q.items[q.head] < 0 {
		q.head++
	}
}

// Compact forgets the places of tasks that left. Nobody may be iterating.
func (q *Queue) Compact() {
	if len(q.items) < 64 || q.live*2 > len(q.items) {
		return
	}
	kept := q.items[:0]
	for _, t := range q.items[q.head:] {
		if t >= 0 {
			q.at[t] = int32(len(kept))
			kept = append(kept, t)
		}
	}
	q.items, q.head = kept, 0
}

// All yields the tasks that are there; one that leaves meanwhile is skipped, one
// that comes meanwhile is not seen.
func (q *Queue) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, n := q.head, len(q.items); i < n; i++ {
			if t := q.items[i]; t >= 0 && !yield(int(t)) {
				return
			}
		}
	}
}

// Len is how many tasks are there.
func (q *Queue) Len() int { return q.live }
