package start

import (
	"cmp"
	"context"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// Exclusive makes the best plan in which new tasks have GPUs to themselves, as
// far as nothing but the class of a GPU matters: each task goes to the class on
// which it is worth most, and classes that are too full are relieved along the
// cheapest chains of moves. Greedy can miss it where GPUs differ.
//
// O(tasks · (tasks · classes + classes³)).
//
// Cancelled, it makes an empty plan.
func Exclusive(ctx context.Context, in *instance.Instance, value instance.Values) (*instance.Plan, error) {
	single := make([][]int64, in.Free)
	at := make([][]int, in.Free)
	t := Transport{N: in.Free, Room: make([]int, in.Free)}
	for k := range single {
		single[k] = make([]int64, len(in.Tasks))
		t.Room[k] = len(in.Classes[k].Members)
	}
	for i := range in.Tasks {
		best := none
		for k := range single {
			v, err := value.SingleValue(k, i)
			if err != nil {
				return nil, err
			}
			if single[k][i] = v; v > 0 && (best == none || v > single[best][i]) {
				best = k
			}
		}
		if best != none {
			at[best] = append(at[best], i)
		}
	}
	t.Size = func(k int) int { return len(at[k]) }
	t.Cost = func(s, from, to int) (int64, bool) {
		i := at[from][s]
		return single[from][i] - single[to][i], single[to][i] > 0
	}
	t.Drop = func(s, from int) int64 { return single[from][at[from][s]] }
	t.Move = func(s, from, to int) {
		i, last := at[from][s], len(at[from])-1
		at[from][s] = at[from][last]
		at[from] = at[from][:last]
		if to != none {
			at[to] = append(at[to], i)
		}
	}
	if in.Free == 1 { // nowhere to move to
		slices.SortStableFunc(at[0], func(a, b int) int { return cmp.Compare(single[0][b], single[0][a]) })
		at[0] = at[0][:min(len(at[0]), t.Room[0])]
	}
	t.stop = func() bool { return ctx.Err() != nil }
	pl := instance.NewPlan(in)
	if t.Run(); t.stop() {
		return pl, nil
	}
	for k := range at {
		for n, i := range at[k] {
			pl.Gpu[i] = int32(in.Classes[k].Members[n])
		}
	}
	return pl, nil
}
