package search

import (
	"cmp"
	"context"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

const (
	// light is the number of units below which rounding hides weights, at speed 1.
	light = 16
	// near is the difference in units that it can hide between any two weights.
	near = 2
	// maxExchanges bounds the questions of HeavierFirst.
	maxExchanges = 1 << 16
)

// ordering exchanges tasks that rounding makes equal.
type ordering struct {
	*instance.Evaluator
	pl      *instance.Plan
	members map[int32][]int32 // by GPU, ascending
	running []int32           // the lightest first
	light   []int32           // of running, those that count little
	waiting []int32           // the heaviest first
	asked   int
	before  []float64 // speeds of the set at hand
}

// HeavierFirst gives the places of running tasks to heavier ones that wait, where the
// value of the plan in units stays what it is and the value before rounding rises:
// weights below a unit, of which there are 2^20 in the largest, all count as one. It
// looks at running tasks that count less than light units, and at those within near
// units of the one that waits, and tries maxExchanges exchanges at most.
//
// Each exchange raises the value before rounding, of which a problem has finitely
// many, and the questions are counted: it ends. Where no two weights differ it asks
// nothing.
func HeavierFirst(ctx context.Context, in *instance.Instance, pl *instance.Plan) error {
	if !slices.ContainsFunc(in.Tasks, func(t instance.Task) bool { return t.Weight != in.Tasks[0].Weight }) {
		return nil
	}
	o := &ordering{Evaluator: instance.NewEvaluator(in), pl: pl, members: map[int32][]int32{}}
	for i, g := range pl.Gpu {
		if g == none {
			o.waiting = append(o.waiting, int32(i))
			continue
		}
		o.members[g] = append(o.members[g], int32(i))
	}
	for changed := true; changed; {
		changed = false
		o.running = o.running[:0]
		for i, g := range pl.Gpu {
			if g != none {
				o.running = append(o.running, int32(i))
			}
		}
		o.sort()
		for n := range o.waiting {
			made, err := o.place(ctx, n)
			if err != nil || o.asked > maxExchanges || ctx.Err() != nil {
				return err
			}
			changed = changed || made
		}
	}
	return nil
}

// sort puts the tasks in order again.
func (o *ordering) sort() {
	slices.SortFunc(o.running, func(a, b int32) int { return cmp.Or(cmp.Compare(o.weight(a), o.weight(b)), cmp.Compare(a, b)) })
	slices.SortFunc(o.waiting, func(a, b int32) int { return cmp.Or(cmp.Compare(o.weight(b), o.weight(a)), cmp.Compare(a, b)) })
	o.light = o.light[:0]
	for _, r := range o.running {
		if c := &o.In.Classes[o.In.ByGPU[o.pl.Gpu[r]]]; o.In.Scaled(o.In.Worth(c, r)) < light {
			o.light = append(o.light, r)
		}
	}
}

func (o *ordering) weight(i int32) float64 { return o.In.Tasks[i].Weight }

// place gives the n-th waiting task the place of a lighter one, the lightest first, if
// that is better. The one that leaves waits in its stead. Until the lists are sorted
// anew some that changed are not looked at; the last round has none of these.
func (o *ordering) place(ctx context.Context, n int) (bool, error) {
	w := o.weight(o.waiting[n])
	from, _ := slices.BinarySearchFunc(o.running, w-near*o.In.Unit, func(r int32, least float64) int { return cmp.Compare(o.weight(r), least) })
	for _, list := range [2][]int32{o.light, o.running[from:]} {
		for at, r := range list {
			if o.weight(r) >= w {
				break
			}
			if o.asked > maxExchanges || ctx.Err() != nil {
				return false, nil //nolint:nilerr // the caller asks ctx
			}
			made, err := o.exchange(o.waiting[n], r)
			if err != nil {
				return false, err
			}
			if made {
				list[at], o.waiting[n] = o.waiting[n], r
				return true, nil
			}
		}
	}
	return false, nil
}

// exchange puts task w, which waits, in the place of task r if that is better.
func (o *ordering) exchange(w, r int32) (bool, error) {
	g := o.pl.Gpu[r]
	if g == none || o.In.Tasks[w].GPUs != o.In.Tasks[r].GPUs {
		return false, nil // r has just left
	}
	better, err := o.better(&o.In.Classes[o.In.ByGPU[g]], w, r)
	if err != nil || !better {
		return false, err
	}
	o.pl.Gpu[w], o.pl.Gpu[r] = g, none
	o.members[g] = instance.Insert(without(o.members[g], r), w)
	return true, nil
}

// without removes a task.
func without(tasks []int32, i int32) []int32 {
	return slices.DeleteFunc(tasks, func(o int32) bool { return o == i })
}

// better reports whether task w, which waits, in place of task r makes a set worth as
// many units and more before rounding.
func (o *ordering) better(c *instance.Class, w, r int32) (bool, error) {
	g := o.pl.Gpu[r]
	old := o.members[g]
	v, err := o.Verdict(c, old)
	if err != nil {
		return false, err
	}
	o.before = append(o.before[:0], o.Best...)
	others := without(slices.Clone(old), r)
	next := instance.With(nil, others, w)
	o.asked++
	to, err := o.Verdict(c, next)
	if err != nil || to.Code != 0 || to.Units+o.In.Bonus(int(g), next) != v.Units+o.In.Bonus(int(g), old) {
		return false, err
	}
	first := len(c.Residents)
	gain := float64(o.In.Worth(c, w)*o.Best[first+slices.Index(next, w)]) - float64(o.In.Worth(c, r)*o.before[first+slices.Index(old, r)])
	gain += float64(o.In.StayOn(int(g), w)-o.In.StayOn(int(g), r)) * o.In.Unit
	for n, i := range c.Residents {
		gain += float64(o.In.Worth(c, i) * (o.Best[n] - o.before[n]))
	}
	for _, i := range others {
		gain += float64(o.In.Worth(c, i) * (o.Best[first+slices.Index(next, i)] - o.before[first+slices.Index(old, i)]))
	}
	return gain > 0, nil
}
