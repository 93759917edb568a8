package instance

import (
	"cmp"
	"slices"
)

// Types sorts the tasks into types that neither the Model nor a limit can tell
// apart, so that sets of tasks become multisets of types: as many as there are
// types, however many the tasks. A task like no other is a type of its own.
//
// A task that costs something to move, from its home, is like no other.
type Types struct {
	Of      []int32   // type of each task
	Members [][]int32 // tasks of each type, ascending
}

// NewTypes sorts the tasks of in. The types come in the order of their first
// members. If apart, every task is taken to be like no other. O(tasks).
func NewTypes(in *Instance, apart bool) *Types {
	ty := &Types{Of: make([]int32, len(in.Tasks))}
	var like []int32
	if !apart {
		like = in.Oracle.Alike()
	}
	known := map[int32]int32{} // types of the tasks that are alike
	for i := range in.Tasks {
		lone := apart || like[i] == none || in.Stay[i] > 0
		at, seen := int32(0), false
		if !lone {
			at, seen = known[like[i]]
		}
		if !seen {
			at = int32(len(ty.Members))
			ty.Members = append(ty.Members, nil)
			if !lone {
				known[like[i]] = at
			}
		}
		ty.Of[i] = at
		ty.Members[at] = append(ty.Members[at], int32(i))
	}
	return ty
}

// Copies lists the tasks that a search over sets of up to k must try, cheapest
// first within their type, and for each the task of its type without which it
// need not be tried, or none.
func (ty *Types) Copies(k int, price []int64) (tasks, before []int32) {
	for _, m := range ty.Members {
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
