package agenda

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestClasses: what is there and in which order is what sorting says, and queues without tasks
// are not looked at, whoever comes and leaves, also while somebody iterates.
func TestClasses(t *testing.T) {
	const tasks = 60
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		priorities := make([]int, tasks)
		for i := range priorities {
			priorities[i] = rng.IntN(1 + int(seed))
		}
		c := NewClasses(priorities)
		var there []int // in the order in which they came
		flip := func(task int) {
			if i := slices.Index(there, task); i >= 0 {
				there = slices.Delete(there, i, i+1)
				c.Remove(task)
				return
			}
			there = append(there, task)
			c.Push(task)
		}
		for range 200 {
			flip(rng.IntN(tasks))
			c.Compact()
			want := slices.Clone(there)
			slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(priorities[b], priorities[a]) })
			if got := slices.Collect(c.All()); !slices.Equal(got, want) || c.Len() != len(want) {
				t.Fatalf("seed %d: %v, %d of them, want %v", seed, got, c.Len(), want)
			}
			levels := map[int]bool{}
			for _, task := range there {
				levels[priorities[task]] = true
			}
			if len(c.used) != len(levels) {
				t.Fatalf("seed %d: %d queues in use, want %d", seed, len(c.used), len(levels))
			}
		}
		last := int(1e9)
		for task := range c.All() { // each of those that are there leaves, and lower ones come
			if priorities[task] > last {
				t.Fatalf("seed %d: priority %d after %d", seed, priorities[task], last)
			}
			last = priorities[task]
			flip(task)
			if other := rng.IntN(tasks); priorities[other] < last {
				flip(other)
			}
		}
		if c.Len() != len(there) || len(slices.Collect(c.All())) != len(there) {
			t.Fatalf("seed %d: %d there, want %d", seed, c.Len(), len(there))
		}
	}
}
