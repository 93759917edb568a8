package agenda

import (
	"cmp"
	"iter"
	"slices"
)

// Classes are queues, one for each priority: tasks of a higher one come first, and in
// the order in which they came among equals.
type Classes struct {
	queues []Queue // the highest priority first
	of     []int32 // by task: its queue
	used   []int32 // queues that hold tasks, in order
	len    int
	left   int // how many tasks left since the last Compact
}

// NewClasses returns empty queues of tasks of some priorities, by task.
func NewClasses(priorities []int) Classes {
	levels := slices.Clone(priorities)
	slices.SortFunc(levels, func(a, b int) int { return cmp.Compare(b, a) })
	levels = slices.Compact(levels)
	c := Classes{queues: make([]Queue, max(1, len(levels))), of: make([]int32, len(priorities))}
	at := make([]int32, len(priorities)) // a task is in one queue at a time
	for i := range c.queues {
		c.queues[i].at = at
	}
	for i, p := range priorities {
		level, _ := slices.BinarySearchFunc(levels, p, func(a, b int) int { return cmp.Compare(b, a) })
		c.of[i] = int32(level)
	}
	return c
}

// Push adds a task that is not there at the end of its queue.
func (c *Classes) Push(task int) {
	level := c.of[task]
	q := &c.queues[level]
	if q.Len() == 0 {
		at, _ := slices.BinarySearch(c.used, level)
		c.used = slices.Insert(c.used, at, level)
	}
	q.Push(task)
	c.len++
}

// Remove takes out a task that is there.
func (c *Classes) Remove(task int) {
	level := c.of[task]
	q := &c.queues[level]
	q.Remove(task)
	if q.Len() == 0 {
		at, _ := slices.BinarySearch(c.used, level)
		c.used = slices.Delete(c.used, at, at+1)
	}
	c.len--
	c.left++
}

// Compact forgets the places of tasks that left, once they are as many as the queues. Nobody
// may be iterating.
func (c *Classes) Compact() {
	if c.left < len(c.queues) {
		return
	}
	c.left = 0
	for i := range c.queues {
		c.queues[i].Compact()
	}
}

// All yields the tasks that are there; one that leaves meanwhile is skipped, one that
// comes meanwhile is seen only if its queue was not begun.
func (c *Classes) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for level := int32(0); ; level++ {
			at, _ := slices.BinarySearch(c.used, level) // used may have changed meanwhile
			if at == len(c.used) {
				return
			}
			level = c.used[at]
			for t := range c.queues[level].All() {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// Len is how many tasks are there.
func (c *Classes) Len() int { return c.len }
