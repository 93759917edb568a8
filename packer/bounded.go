package packer

import (
	"cmp"
	"context"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
)

// rival is a task that may join the set at hand.
type rival struct {
	task int32 // place in setWalk.tasks
	most int64 // units at most that it has there
	gain int64 // of that beyond its price, quarters
}

// maxCaps bounds the memory of a table of caps: 256 MiB.
const maxCaps = 1 << 26

// bounded visits the sets that may raise the price, on a monotone class: a
// set with tasks T added is worth no more than its members are now, and the
// tasks of T beside any one of them. Rivals come in the order of what they can
// earn, so that the first that is not worth trying ends the search.
func (w *setWalk) bounded(ctx context.Context) error {
	w.pool = make([][]rival, w.room+1)
	if len(w.c.Residents) == 0 && len(w.tasks) <= maxCaps/max(1, len(w.tasks)) && w.room > 1 {
		if err := w.cap(ctx); err != nil {
			return err
		}
	}
	for n, i := range w.tasks {
		r := rival{task: int32(n)}
		if w.single != nil {
			r.most = w.single[n]
		} else {
			parts, _, err := w.Weigh(w.c, []int32{i}, w.c.Base)
			if err != nil {
				return err
			}
			r.most = parts[len(parts)-1]
		}
		if r.gain = instance.Quarters*r.most - w.pr.u[i]; r.most > 0 {
			w.pool[0] = append(w.pool[0], r)
		}
	}
	return w.extend(ctx, nil, 0, w.c.Base, w.c.Used, w.c.Base)
}

// extend visits the supersets of set by the rivals in pool[len(set)]: paid is its
// price, worth what its members and the residents are worth at most.
func (w *setWalk) extend(ctx context.Context, set []int32, paid, worth int64, used profile.Bytes, ref int64) error {
	rivals := w.pool[len(set)]
	slices.SortFunc(rivals, func(a, b rival) int {
		return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.task, b.task))
	})
	for n, r := range rivals {
		if err := ctx.Err(); err != nil {
			return err
		}
		hope := instance.Quarters*worth - paid + r.gain
		for _, o := range rivals[n+1 : min(len(rivals), n+w.room-len(set))] {
			hope += max(0, o.gain)
		}
		if hope <= w.offers.common {
			return nil
		}
		if err := w.try(ctx, set, n, paid, used, ref); err != nil {
			return err
		}
	}
	return nil
}

// try visits set with its n-th rival and the supersets by later rivals.
func (w *setWalk) try(ctx context.Context, set []int32, n int, paid int64, used profile.Bytes, ref int64) error {
	r := w.pool[len(set)][n]
	i := w.tasks[r.task]
	t := &w.In.Tasks[i]
	paid, used = paid+w.pr.u[i], used+t.Memory
	set = instance.With(nil, set, r.task)
	w.ids = w.ids[:0]
	for _, m := range set {
		w.ids = append(w.ids, w.tasks[m])
	}
	worth := r.most
	if w.single != nil {
		ref = max(ref, w.single[r.task])
	}
	if len(set) > 1 || w.single == nil {
		parts, units, err := w.Weigh(w.c, w.ids, ref)
		if err != nil {
			return err
		}
		worth = 0
		for _, p := range parts {
			if p == 0 {
				return nil // too slow, whoever else joins
			}
			worth += p
		}
		w.take(w.ids, i, units, paid)
	} else {
		w.take(w.ids, i, worth, paid)
	}
	if len(set) == w.room || t.Alone {
		return nil
	}
	next := w.pool[len(set)][:0]
	for _, o := range w.pool[len(set)-1][n+1:] {
		u := &w.In.Tasks[w.tasks[o.task]]
		if u.Alone || u.Memory > w.c.Usable-used {
			continue
		}
		if w.caps != nil {
			o.most = min(o.most, int64(w.caps[int(o.task)*len(w.tasks)+int(r.task)]))
			o.gain = instance.Quarters*o.most - w.pr.u[w.tasks[o.task]]
		}
		if o.most > 0 {
			next = append(next, o)
		}
	}
	w.pool[len(set)] = next
	return w.extend(ctx, set, paid, worth, used, ref)
}

// cap fills caps: caps[i*n+j] is what the i-th task is worth at most beside the j-th, 0 if
// they cannot share.
func (w *setWalk) cap(ctx context.Context) error {
	n := len(w.tasks)
	w.caps = make([]int32, n*n)
	pair := make([]int32, 2)
	for i, at := range w.tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.single[i] == 0 {
			continue
		}
		for j := i + 1; j < n; j++ {
			if w.single[j] == 0 {
				continue
			}
			pair[0], pair[1] = at, w.tasks[j]
			parts, _, err := w.Weigh(w.c, pair, 0)
			if err != nil {
				return err
			}
			w.caps[i*n+j], w.caps[j*n+i] = int32(parts[0]), int32(parts[1])
		}
	}
	return nil
}

// hints returns the prices of the certificate's Lambda by class, 0 where there is
// none that makes sense: where to begin a bounded search.
func (c *Certificate) hints(in *instance.Instance) []int64 {
	hints := make([]int64, len(in.Classes))
	if len(c.Lambda) != len(in.ByGPU) {
		return hints
	}
	for k := range hints {
		least := math.Inf(1)
		for _, g := range in.Classes[k].Members {
			least = min(least, c.Lambda[g])
		}
		if q, err := quartersOf(in, "", least); err == nil {
			hints[k] = q
		}
	}
	return hints
}
