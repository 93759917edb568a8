package agenda

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestTimers: the first of all times is the least that was set, of equal ones that of the lower
// task, whatever was changed and taken out.
func TestTimers(t *testing.T) {
	const tasks = 90
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		timers, set := NewTimers(tasks), map[int]time.Duration{}
		for range 600 {
			task := rng.IntN(tasks)
			if rng.IntN(3) == 0 {
				timers.Set(task, Never)
				delete(set, task)
			} else {
				at := time.Duration(rng.IntN(40)) // many are equal
				timers.Set(task, at)
				set[task] = at
			}
			first, next := -1, Never
			for task := range tasks {
				if at, ok := set[task]; ok && at < next {
					first, next = task, at
				}
			}
			if timers.Len() != len(set) || timers.Next() != next || first >= 0 && timers.First() != first {
				t.Fatalf("seed %d: %d times, the first at %v; want %d, and task %d at %v", seed, timers.Len(), timers.Next(), len(set), first, next)
			}
		}
		for last := time.Duration(-1); timers.Len() > 0; timers.Set(timers.First(), Never) {
			if timers.Next() < last {
				t.Fatalf("seed %d: %v after %v", seed, timers.Next(), last)
			}
			last = timers.Next()
		}
	}
}

// TestLater: what would be beyond the range of times is never.
func TestLater(t *testing.T) {
	for _, tt := range []struct{ at, d, want time.Duration }{
		{1, 2, 3}, {Never - 5, 5, Never}, {Never - 5, 6, Never}, {Never - 6, 5, Never - 1}, {0, Never, Never}, {Never, 0, Never}, {Never, 1, Never},
	} {
		if got := Later(tt.at, tt.d); got != tt.want {
			t.Errorf("%d after %d is %d, want %d", tt.d, tt.at, got, tt.want)
		}
	}
}

// TestCompact: tasks that left are forgotten once they are most of a list, and what is there
// stays as it was, so that many that come and go need little room.
func TestCompact(t *testing.T) {
	const tasks = 4000
	c := NewClasses(make([]int, tasks))
	for task := range tasks {
		c.Push(task)
		if task >= 10 {
			c.Remove(task - 10)
		}
		c.Compact()
		want := max(0, task-9)
		for got := range c.All() {
			if got != want {
				t.Fatalf("task %d is there, want %d", got, want)
			}
			want++
		}
		if places := len(c.queues[0].items); places > 70 || want != task+1 {
			t.Fatalf("%d places for the tasks up to %d of %d", places, want, task)
		}
	}
}
