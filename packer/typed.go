package packer

import (
	"cmp"
	"slices"
)

// typing sorts the tasks into types that neither the Model nor a limit can tell
// apart, so that sets of tasks become multisets of types: as many as there are
// types, however many the tasks. A task like no other is a type of its own.
//
// A task that costs something to move, from its home, is like no other.
type typing struct {
	of      []int32   // type of each task
	members [][]int32 // tasks of each type, ascending
}

// newTyping sorts the tasks of in. The types come in the order of their first
// members. If apart, every task is taken to be like no other. O(tasks).
func newTyping(in *instance, apart bool) *typing {
	ty := &typing{of: make([]int32, len(in.tasks))}
	var like []int32
	if !apart {
		like = in.oracle.alike()
	}
	known := map[int32]int32{} // types of the tasks that are alike
	for i := range in.tasks {
		lone := apart || like[i] == none || in.stay[i] > 0
		at, seen := int32(0), false
		if !lone {
			at, seen = known[like[i]]
		}
		if !seen {
			at = int32(len(ty.members))
			ty.members = append(ty.members, nil)
			if !lone {
				known[like[i]] = at
			}
		}
		ty.of[i] = at
		ty.members[at] = append(ty.members[at], int32(i))
	}
	return ty
}

// copies lists the tasks that a search over sets of up to k must try, cheapest
// first within their type, and for each the task of its type without which it
// need not be tried, or none.
func (ty *typing) copies(k int, price []int64) (tasks, before []int32) {
	for _, m := range ty.members {
		m = slices.Clone(m)
		slices.SortStableFunc(m, func(a, b int32) int { return cmp.Compare(price[a], price[b]) })
		for n, i := range m[:min(k, len(m))] {
			tasks = append(tasks, i)
			if n == 0 {
				before = append(before, int32(none))
			} else {
				before = append(before, m[n-1])
			}
		}
	}
	return tasks, before
}
