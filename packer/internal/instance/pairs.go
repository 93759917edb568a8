package instance

import (
	"context"
	"math"

	"example.com/colloc/profile"
)

// Pairs evaluates all pairs of tasks on an empty GPU of class c, row by row: it
// calls row(i, partners, values) with the partners j > i of task i that memory
// allows and the value of each pair, 0 if it is not allowed. The slices are
// used again. It stops with ctx.Err() when ctx is cancelled.
func (e *Evaluator) Pairs(ctx context.Context, c *Class, single []int64, row func(i int, partners, values []int32)) error {
	if len(c.Mechs) == 0 || e.In.MaxSet < 2 {
		return ctx.Err()
	}
	r := NewPairRow(e, c, single)
	in := e.In
	var ids []int32                      // of the tasks that may share this GPU at all
	most, free := profile.Bytes(0), true // memory of the largest; nobody minds company
	for i := range in.Tasks {
		if t := &in.Tasks[i]; !t.Alone && t.Memory <= c.Usable && in.Hosts(c, int32(i)) && t.GPUs <= len(c.Members) {
			ids = append(ids, int32(i))
			most, free = max(most, t.Memory), free && !t.Picky && t.GPUs == in.Tasks[ids[0]].GPUs
		}
	}
	fits := make([]int32, 0, len(ids))
	for n, i := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		left := c.Offer(2) - in.Tasks[i].Memory
		if r.IDs = ids[n+1:]; !free || most > left {
			fits = fits[:0]
			for _, j := range r.IDs {
				if in.Tasks[j].Memory <= left && in.compatible(i, j) {
					fits = append(fits, j)
				}
			}
			r.IDs = fits
		}
		if err := r.Fill(i); err != nil {
			return err
		}
		row(int(i), r.IDs, r.Values[:len(r.IDs)])
	}
	return nil
}

// PairRow evaluates one task beside many.
type PairRow struct {
	*Evaluator
	C          *Class
	IDs        []int32
	Own, Other []float64
	Values     []int32
	scaled     []float64 // worth of each task in units
	slowest    []float64 // speed that each task needs
	least      []int64   // value that a pair with each task must have
}

// NewPairRow prepares for class c, where single are the values of the tasks alone.
func NewPairRow(e *Evaluator, c *Class, single []int64) *PairRow {
	n := len(e.In.Tasks)
	r := &PairRow{
		Evaluator: e, C: c, Own: make([]float64, n), Other: make([]float64, n), Values: make([]int32, n),
		scaled: make([]float64, n), slowest: make([]float64, n), least: make([]int64, n),
	}
	for i, t := range e.In.Tasks {
		r.scaled[i] = e.In.Scaled(e.In.Worth(c, int32(i)))
		r.slowest[i] = t.MinSpeed
		r.least[i] = max(single[i]+1, int64(math.Ceil((1+e.In.MinGain)*float64(single[i]))))
	}
	return r
}

// Fill computes the values of task i beside the partners collected.
func (r *PairRow) Fill(i int32) error {
	values := r.Values[:len(r.IDs)]
	clear(values)
	own, other := r.Own[:len(r.IDs)], r.Other[:len(r.IDs)]
	slowest := r.slowest[i]
	for _, mech := range r.C.Mechs {
		if err := r.Speeds(i, mech, own, other); err != nil {
			return err
		}
		for n, j := range r.IDs {
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

// part returns the value of task i at a speed above 0, as Instance.Units does: from
// 1 on, adding a half and cutting off is rounding.
func (r *PairRow) part(i int32, speed float64) int64 {
	return max(1, int64(float64(r.scaled[i]*speed)+0.5))
}

// Speeds asks the model for a row.
func (r *PairRow) Speeds(i int32, mech profile.Mechanism, own, other []float64) error {
	if mech != profile.MIG || r.C.Cut == nil {
		return r.In.Oracle.PairSpeeds(r.C.Number, i, r.IDs, mech, own, other)
	}
	for n, j := range r.IDs {
		r.Set = append(r.Set[:0], i, j)
		dst := r.speeds[:2]
		if err := r.Ask(r.C, r.Set, mech, dst); err != nil {
			return err
		}
		own[n], other[n] = dst[0], dst[1]
	}
	return nil
}
