package agenda

import "time"

// Never is later than anything that happens.
const Never = time.Duration(1<<63 - 1)

// Later is d after at; Never if that is more than time can be.
func Later(at, d time.Duration) time.Duration {
	if d > Never-at {
		return Never
	}
	return at + d
}

// Timers is a heap with one entry for each task that has something to come. Ties
// go to the lower task.
type Timers struct {
	heap []int32
	at   []time.Duration // by task
	pos  []int32         // by task; -1 is not in the heap
}

// NewTimers returns a heap without times for so many tasks.
func NewTimers(tasks int) Timers {
	t := Timers{at: make([]time.Duration, tasks), pos: make([]int32, tasks)}
	for i := range t.pos {
		t.pos[i] = -1
	}
	return t
}

// Next returns the earliest time; Never if there is none.
func (t *Timers) Next() time.Duration {
	if len(t.heap) == 0 {
		return Never
	}
	return t.at[t.heap[0]]
}

// Set changes a task's time; Never takes it out.
func (t *Timers) Set(task int, at time.Duration) {
	i := t.pos[task]
	t.at[task] = at
	switch {
	case at == Never && i < 0:
		return
	case at == Never:
		last := len(t.heap) - 1
		moved := t.heap[last]
		t.heap = t.heap[:last]
		t.pos[task] = -1
		if int(i) < last {
			t.heap[i], t.pos[moved] = moved, i
			t.fix(int(i))
		}
	case i < 0:
		t.heap = append(t.heap, int32(task))
		t.up(len(t.heap) - 1)
	default:
		t.fix(int(i))
	}
}

func (t *Timers) less(a, b int32) bool {
	return t.at[a] < t.at[b] || t.at[a] == t.at[b] && a < b
}

func (t *Timers) fix(i int) {
	if !t.down(i) {
		t.up(i)
	}
}

func (t *Timers) up(i int) {
	task := t.heap[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !t.less(task, t.heap[parent]) {
			break
		}
		t.heap[i] = t.heap[parent]
		t.pos[t.heap[i]] = int32(i)
		i = parent
	}
	t.heap[i], t.pos[task] = task, int32(i)
}

func (t *Timers) down(i int) bool {
	task, start := t.heap[i], i
	for {
		first := 4*i + 1
		if first >= len(t.heap) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(t.heap)); c++ {
			if t.less(t.heap[c], t.heap[least]) {
				least = c
			}
		}
		if !t.less(t.heap[least], task) {
			break
		}
		t.heap[i] = t.heap[least]
		t.pos[t.heap[i]] = int32(i)
		i = least
	}
	t.heap[i], t.pos[task] = task, int32(i)
	return i > start
}

// First is the task of the earliest time; there must be one.
func (t *Timers) First() int { return int(t.heap[0]) }

// Len is how many tasks have something to come.
func (t *Timers) Len() int { return len(t.heap) }
