package packer

import (
	"context"
	"math"

	"example.com/colloc/profile"
)

// pairs evaluates all pairs of tasks on an empty GPU of class c, row by row: it
// calls row(i, partners, values) with the partners j > i of task i that memory
// allows and the value of each pair, 0 if it is not allowed. The slices are
// used again. It stops with ctx.Err() when ctx is cancelled.
func (e *evaluator) pairs(ctx context.Context, c *class, single []int64, row func(i int, partners, values []int32)) error {
	if len(c.mechs) == 0 || e.in.maxSet < 2 {
		return ctx.Err()
	}
	r := newPairRow(e, c, single)
	in := e.in
	var ids []int32                      // of the tasks that may share this GPU at all
	most, free := profile.Bytes(0), true // memory of the largest; nobody minds company
	for i := range in.tasks {
		if t := &in.tasks[i]; !t.alone && t.memory <= c.usable && in.hosts(c, int32(i)) && t.gpus <= len(c.members) {
			ids = append(ids, int32(i))
			most, free = max(most, t.memory), free && !t.picky && t.gpus == in.tasks[ids[0]].gpus
		}
	}
	fits := make([]int32, 0, len(ids))
	for n, i := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		left := c.usable - in.tasks[i].memory
		if r.ids = ids[n+1:]; !free || most > left {
			fits = fits[:0]
			for _, j := range r.ids {
				if in.tasks[j].memory <= left && in.compatible(i, j) {
					fits = append(fits, j)
				}
			}
			r.ids = fits
		}
		if err := r.fill(i); err != nil {
			return err
		}
		row(int(i), r.ids, r.values[:len(r.ids)])
	}
	return nil
}

// pairRow evaluates one task beside many.
type pairRow struct {
	*evaluator
	c          *class
	ids        []int32
	own, other []float64
	values     []int32
	scaled     []float64 // weight of each task in units
	slowest    []float64 // speed that each task needs
	least      []int64   // value that a pair with each task must have
}

func newPairRow(e *evaluator, c *class, single []int64) *pairRow {
	n := len(e.in.tasks)
	r := &pairRow{
		evaluator: e, c: c, own: make([]float64, n), other: make([]float64, n), values: make([]int32, n),
		scaled: make([]float64, n), slowest: make([]float64, n), least: make([]int64, n),
	}
	for i, t := range e.in.tasks {
		r.scaled[i] = e.in.scaled(t.weight)
		r.slowest[i] = t.minSpeed
		r.least[i] = max(single[i]+1, int64(math.Ceil((1+e.in.minGain)*float64(single[i]))))
	}
	return r
}

// fill computes the values of task i beside the partners collected.
func (r *pairRow) fill(i int32) error {
	values := r.values[:len(r.ids)]
	clear(values)
	own, other := r.own[:len(r.ids)], r.other[:len(r.ids)]
	slowest := r.slowest[i]
	for _, mech := range r.c.mechs {
		if err := r.speeds(i, mech, own, other); err != nil {
			return err
		}
		for n, j := range r.ids {
			a, b := own[n], other[n]
			if a < slowest || b < r.slowest[j] || a == 0 || b == 0 {
				continue
			}
			total := r.part(i, a) + r.part(j, b)
			if total >= max(r.least[i], r.least[j], int64(values[n])) {
				values[n] = int32(total)
			}
		}
	}
	return nil
}

// part returns the value of task i at a speed above 0, as instance.units does: from
// 1 on, adding a half and cutting off is rounding.
func (r *pairRow) part(i int32, speed float64) int64 {
	return max(1, int64(float64(r.scaled[i]*speed)+0.5))
}

// speeds asks the model for a row.
func (r *pairRow) speeds(i int32, mech profile.Mechanism, own, other []float64) error {
	if mech != profile.MIG || r.c.cut == nil {
		return r.in.oracle.pairSpeeds(r.c.number, i, r.ids, mech, own, other)
	}
	for n, j := range r.ids {
		r.set = append(r.set[:0], i, j)
		dst := r.evaluator.speeds[:2]
		if err := r.ask(r.c, r.set, mech, dst); err != nil {
			return err
		}
		own[n], other[n] = dst[0], dst[1]
	}
	return nil
}
