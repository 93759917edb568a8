package packer

import (
	"context"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
)

// setWalk visits the sets of new tasks on one class.
type setWalk struct {
	*instance.Evaluator
	offers *offers
	c      *instance.Class
	pr     *pricing
	seat   []int32
	room   int
	tasks  []int32 // to try; below they go by their place in this list
	before []int32 // the task without which one need not be tried, or none
	single []int64 // value of each alone, nil beside residents
}

// take offers a set whose last task is i and whose tasks cost paid.
func (w *setWalk) take(ids []int32, i int32, units, paid int64) {
	if units > 0 {
		w.offers.take(ids, units, paid+w.pr.joint(w.pr.sets[i], w.seat))
	}
}

// all visits every superset of the set ids that adds tasks from the n-th on. paid
// is the price of the set, used its memory with the residents, ref the
// value it must beat.
func (w *setWalk) all(ctx context.Context, n int, ids []int32, paid int64, used profile.Bytes, ref int64) error {
	for ; n < len(w.tasks) && len(ids) < w.room; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		i := w.tasks[n]
		t := &w.In.Tasks[i]
		if t.Memory > w.c.Usable-used || t.Alone && len(ids) > 0 {
			continue
		}
		if b := w.before[n]; b != none && (len(ids) == 0 || ids[len(ids)-1] != b) {
			continue
		}
		next, cost := append(ids, i), paid+w.pr.u[i]
		beat, units := ref, int64(0)
		if w.single != nil {
			beat, units = max(ref, w.single[n]), w.single[n]
		}
		if len(next) > 1 || w.single == nil {
			v, err := w.Together(w.c, next, beat)
			if err != nil {
				return err
			}
			units = v.Units
		}
		w.take(next, i, units, cost)
		if t.Alone {
			continue
		}
		if err := w.all(ctx, n+1, next, cost, used+t.Memory, beat); err != nil {
			return err
		}
	}
	return nil
}
