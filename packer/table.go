package packer

import (
	"context"
	"fmt"
	"math"

	"example.com/colloc/profile"
)

// singles returns the value of each task alone on an empty GPU of class c; 0 if
// it may not run there.
func (e *evaluator) singles(c *class) ([]int64, error) {
	out := make([]int64, len(e.in.tasks))
	for i, t := range e.in.tasks {
		v, err := e.alone(c, t)
		if err != nil {
			return nil, err
		}
		out[i] = v.units
	}
	return out, nil
}

// pairs evaluates all pairs of tasks on an empty GPU of class c, row by row: it
// calls row(i, partners, values) with the partners j > i of task i that memory
// allows and the value of each pair, 0 if it is not allowed. The slices are
// used again. It stops with ctx.Err() when ctx is cancelled.
func (e *evaluator) pairs(ctx context.Context, c *class, single []int64, row func(i int, partners, values []int32)) error {
	if len(c.mechs) == 0 || e.in.maxSet < 2 {
		return ctx.Err()
	}
	r := newPairRow(e, c, single)
	var ids []int32 // of the tasks that may share this GPU at all
	var tasks []*Task
	most, free := profile.Bytes(0), true // memory of the largest; nobody minds company
	for i, t := range e.in.tasks {
		if !t.Alone && t.Memory <= c.usable && c.gpu.hosts(t) && t.gpus() <= len(c.members) {
			ids, tasks = append(ids, int32(i)), append(tasks, t)
			most, free = max(most, t.Memory), free && !t.picky() && t.gpus() == tasks[0].gpus()
		}
	}
	fits := make([]int32, 0, len(ids))
	fitting := make([]*Task, 0, len(ids))
	for n, t := range tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.ids, r.tasks = ids[n+1:], tasks[n+1:]; !free || most > c.usable-t.Memory {
			fits, fitting = fits[:0], fitting[:0]
			for k, o := range r.tasks {
				if o.Memory <= c.usable-t.Memory && compatible(t, o) {
					fits, fitting = append(fits, r.ids[k]), append(fitting, o)
				}
			}
			r.ids, r.tasks = fits, fitting
		}
		i := int(ids[n])
		if err := r.fill(i); err != nil {
			return err
		}
		row(i, r.ids, r.values[:len(r.ids)])
	}
	return nil
}

// pairRow evaluates one task beside many.
type pairRow struct {
	*evaluator
	c          *class
	batch      BatchModel
	ids        []int32
	tasks      []*Task
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
	r.batch, _ = e.in.p.Model.(BatchModel)
	for i, t := range e.in.tasks {
		r.scaled[i] = e.in.scaled(t.weight())
		r.slowest[i] = t.MinSpeed
		r.least[i] = max(single[i]+1, int64(math.Ceil((1+e.in.p.Limits.MinGain)*float64(single[i]))))
	}
	return r
}

// fill computes the values of task i beside the partners collected.
func (r *pairRow) fill(i int) error {
	values := r.values[:len(r.ids)]
	clear(values)
	own, other := r.own[:len(r.ids)], r.other[:len(r.ids)]
	t := r.in.tasks[i]
	for _, mech := range r.c.mechs {
		if err := r.speeds(t, mech, own, other); err != nil {
			return err
		}
		for n, j := range r.ids {
			a, b := own[n], other[n]
			if !(a >= 0 && a <= maxSpeed && b >= 0 && b <= maxSpeed) {
				return r.broken(t, r.tasks[n], mech, a, b)
			}
			if a < t.MinSpeed || b < r.slowest[j] || a == 0 || b == 0 {
				continue
			}
			total := r.part(i, a) + r.part(int(j), b)
			if total >= max(r.least[i], r.least[j], int64(values[n])) {
				values[n] = int32(total)
			}
		}
	}
	return nil
}

// part returns the value of task i at a speed above 0, as instance.units does: from
// 1 on, adding a half and cutting off is rounding.
func (r *pairRow) part(i int, speed float64) int64 {
	return max(1, int64(float64(r.scaled[i]*speed)+0.5))
}

// speeds asks the model for a row.
func (r *pairRow) speeds(t *Task, mech profile.Mechanism, own, other []float64) error {
	cut := mech == profile.MIG && r.in.cuts[r.c.gpu] != nil
	if r.batch != nil && !cut {
		err := r.batch.PairSpeeds(t, r.tasks, r.c.gpu, mech, own, other)
		if err != nil {
			return r.locate(t, mech, err)
		}
		return nil
	}
	for n, o := range r.tasks {
		r.set = append(r.set[:0], t, o)
		dst := r.evaluator.speeds[:2]
		if cut {
			if err := r.ask(r.set, r.c.gpu, mech, dst); err != nil {
				return err
			}
		} else if err := r.in.p.Model.Speeds(r.set, r.c.gpu, mech, dst); err != nil {
			return modelError(r.set, r.c.gpu, mech, err)
		}
		own[n], other[n] = dst[0], dst[1]
	}
	return nil
}

// locate names the pair for which a whole row failed.
func (r *pairRow) locate(t *Task, mech profile.Mechanism, err error) error {
	for _, o := range r.tasks {
		if one := r.ask([]*Task{t, o}, r.c.gpu, mech, r.evaluator.speeds[:2]); one != nil {
			return one
		}
	}
	return fmt.Errorf("packer: model: %q beside %d partners on GPU %q (%v): %w", t.ID, len(r.tasks), r.c.gpu.ID, mech, err)
}

// broken is the error for speeds that are none.
func (r *pairRow) broken(t, o *Task, mech profile.Mechanism, a, b float64) error {
	id, what := t.ID, checkSpeed(a)
	if what == "" {
		id, what = o.ID, checkSpeed(b)
	}
	return modelError([]*Task{t, o}, r.c.gpu, mech, fmt.Errorf("the speed of %q is %s; want a finite number in [0, %d]", id, what, maxSpeed))
}

// maxCells bounds the memory of a table: 1 GiB.
const maxCells = 1 << 28

// table holds the values of all sets of at most two tasks, residents included.
type table struct {
	in     *instance
	n      int
	single [][]int64 // [free class][task], 0 if not allowed
	pair   [][]int32 // [free class][task*n + task], in quarters, 0 if not allowed
	gain   [][]int64 // [class][task], over the residents alone; nil for other classes
}

// tooMany refuses a table that is too large.
func tooMany(tasks, kinds int) error {
	if kinds > 0 && tasks > 0 && tasks > maxCells/tasks/kinds {
		return fmt.Errorf("packer: matching: %d tasks on %d kinds of GPU or more need a table of more than %d pairs; use Greedy, or pack in parts", tasks, kinds, maxCells)
	}
	return nil
}

// newTable evaluates everything. O(classes · n²) time and memory.
func (e *evaluator) newTable(ctx context.Context) (*table, error) {
	in, n := e.in, len(e.in.tasks)
	if in.maxSet > 1 {
		if err := tooMany(n, in.free); err != nil {
			return nil, err
		}
	}
	t := &table{in: in, n: n, gain: make([][]int64, len(in.classes))}
	for k := range in.classes {
		if k >= in.free {
			if err := e.gains(t, k); err != nil {
				return nil, err
			}
			continue
		}
		c := &in.classes[k]
		single, err := e.singles(c)
		if err != nil {
			return nil, err
		}
		var pair []int32
		if in.maxSet > 1 {
			pair = make([]int32, n*n)
		}
		err = e.pairs(ctx, c, single, func(i int, partners, values []int32) {
			to := pair[i*n : (i+1)*n]
			for m, j := range partners {
				to[j] = quarters * values[m]
			}
		})
		if err != nil {
			return nil, err
		}
		mirror(ctx, pair, n)
		t.single = append(t.single, single)
		t.pair = append(t.pair, pair)
	}
	return t, nil
}

// mirror copies the upper triangle of a square matrix to the lower, in blocks
// that stay in the cache.
func mirror(ctx context.Context, m []int32, n int) {
	const block = 32
	if len(m) == 0 {
		return
	}
	for i0 := 0; i0 < n && ctx.Err() == nil; i0 += block {
		for j0 := i0; j0 < n; j0 += block {
			for i := i0; i < min(i0+block, n); i++ {
				for j := max(j0, i+1); j < min(j0+block, n); j++ {
					m[j*n+i] = m[i*n+j]
				}
			}
		}
	}
}

// largest returns the largest of some values, 0 if none is larger.
func largest(values []int32) int32 {
	const step = 4
	most := int32(0)
	for ; len(values) >= step; values = values[step:] {
		if v := (*[step]int32)(values); v[0] > most || v[1] > most || v[2] > most || v[3] > most {
			most = max(v[0], v[1], v[2], v[3])
		}
	}
	for _, v := range values {
		most = max(most, v)
	}
	return most
}

// gains fills in what each task adds beside the residents of class k.
func (e *evaluator) gains(t *table, k int) error {
	c := &e.in.classes[k]
	if !c.open(e.in.maxSet) {
		return nil
	}
	t.gain[k] = make([]int64, t.n)
	one := make([]*Task, 1)
	for i, task := range e.in.tasks {
		one[0] = task
		v, err := e.together(c, one, c.base)
		if err != nil {
			return err
		}
		if v.code == 0 {
			t.gain[k][i] = v.units - c.base
		}
	}
	return nil
}

// singleValue implements valuer.
func (t *table) singleValue(k, i int) (int64, error) { return t.single[k][i], nil }

// setValue implements valuer.
func (t *table) setValue(k int, tasks []int32, _ int64) (int64, error) {
	return t.worth(k, tasks[0], tasks[len(tasks)-1]), nil
}

// worth returns the value of class k with tasks i and j, each of which may be
// none, or both the same; the residents' own value is included. 0 is not
// allowed.
func (t *table) worth(k int, i, j int32) int64 {
	if i == none {
		i, j = j, i
	}
	switch {
	case i == none:
		return t.in.classes[k].base
	case k >= t.in.free:
		if t.gain[k] == nil || j != none && j != i || t.gain[k][i] == 0 {
			return 0
		}
		return t.in.classes[k].base + t.gain[k][i]
	case j == none || j == i:
		return t.single[k][i]
	case t.pair[k] == nil:
		return 0
	}
	// Callers try many i for one j.
	return int64(t.pair[k][int(j)*t.n+int(i)]) / quarters
}
