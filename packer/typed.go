package packer

import (
	"cmp"
	"slices"

	"example.com/colloc/profile"
)

// typing sorts the tasks into types that neither the Model nor a limit can tell
// apart, so that sets of tasks become multisets of types: as many as there are
// types, however many the tasks. A task like no other is a type of its own.
//
// Two tasks are of one type if Weight and all fields of [Task] but ID and Home
// are equal, Profile is the same pointer, and Kind or Profile is set. A task
// that costs something to move, from its home, is like no other.
type typing struct {
	of      []int32   // type of each task
	members [][]int32 // tasks of each type, ascending
}

// typeKey holds what is quick to compare of a type.
type typeKey struct {
	kind        string
	profile     *profile.Profile
	memory      profile.Bytes
	weight, min float64
}

// newTyping sorts the tasks of in. The types come in the order of their first
// members. If apart, every task is taken to be like no other. O(tasks).
func newTyping(in *instance, apart bool) *typing {
	ty := &typing{of: make([]int32, len(in.tasks))}
	known := map[typeKey][]int32{} // types that agree in the key
	for i, t := range in.tasks {
		key := typeKey{t.Kind, t.Profile, t.Memory, t.weight(), t.MinSpeed}
		lone := apart || t.Kind == "" && t.Profile == nil || in.stay[i] > 0
		at := none
		if !lone {
			for _, c := range known[key] {
				if alike(in.tasks[ty.members[c][0]], t) {
					at = int(c)
					break
				}
			}
		}
		if at == none {
			at = len(ty.members)
			ty.members = append(ty.members, nil)
			if !lone {
				known[key] = append(known[key], int32(at))
			}
		}
		ty.of[i] = int32(at)
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
