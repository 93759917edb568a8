package packer

import (
	"context"
	"fmt"
	"slices"
)

// maxCells bounds the memory of a table: 1 GiB.
const maxCells = 1 << 28

// table holds the values of all sets of at most two tasks, residents included.
type table struct {
	in     *instance
	n      int
	single [][]int64 // [free class][task], 0 if not allowed
	pair   [][]int32 // [free class][task*n + task], in quarters, 0 if not allowed
	gain   [][]int64 // [class][task], over the residents alone; nil for other classes
	top    int64     // no value on a free class is larger, in quarters
}

// tooMany refuses a table that is too large.
func tooMany(tasks, kinds int) error {
	if kinds > 0 && tasks > 0 && tasks > maxCells/tasks/kinds {
		return fmt.Errorf("packer: matching: %d tasks on %d kinds of GPU or more need a table of more than %d pairs; use Greedy, or pack in parts", tasks, kinds, maxCells)
	}
	return nil
}

// newTable evaluates everything. O(classes · n²) time and memory.
func newTable(ctx context.Context, e *evaluator) (*table, error) {
	in, n := e.in, len(e.in.tasks)
	if in.maxSet > 1 {
		if err := tooMany(n, in.free); err != nil {
			return nil, err
		}
	}
	t := &table{in: in, n: n, gain: make([][]int64, len(in.classes))}
	for k := range in.classes {
		if k >= in.free {
			if err := t.beside(e, k); err != nil {
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
			most := int32(0)
			for m, j := range partners {
				v := quarters * values[m]
				to[j], most = v, max(most, v)
			}
			t.top = max(t.top, int64(most))
		})
		if err != nil {
			return nil, err
		}
		mirror(ctx, pair, n)
		t.top = max(t.top, quarters*slices.Max(append(single, 0)))
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

// beside fills in what each task adds beside the residents of class k.
func (t *table) beside(e *evaluator, k int) error {
	c := &e.in.classes[k]
	if !e.in.open(c) {
		return nil
	}
	t.gain[k] = make([]int64, t.n)
	one := make([]int32, 1)
	for i := range t.gain[k] {
		one[0] = int32(i)
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

// quick implements valuer.
func (t *table) quick() bool { return true }

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

// hopeful returns the table in which the sets on free classes are worth what
// they would be on the best of their members' homes: no less than on any GPU.
func (t *table) hopeful(ctx context.Context) *table {
	if !t.in.any {
		return t
	}
	h := *t
	h.gain = make([][]int64, len(t.gain))
	for k, gain := range t.gain {
		h.gain[k] = slices.Clone(gain)
		for i, v := range gain {
			if v > 0 {
				h.gain[k][i] += t.in.stayIn(k, int32(i))
			}
		}
	}
	h.single, h.pair = make([][]int64, len(t.single)), make([][]int32, len(t.pair))
	for k := range t.single {
		h.single[k] = slices.Clone(t.single[k])
		h.pair[k] = slices.Clone(t.pair[k])
		for i := range int32(t.n) {
			if ctx.Err() != nil {
				break // nobody will look at it
			}
			if h.single[k][i] > 0 {
				h.single[k][i] += t.in.stayIn(k, i)
				h.top = max(h.top, quarters*h.single[k][i])
			}
			h.hopeFor(t.pair[k], k, i)
		}
	}
	return &h
}

// hopeFor makes the values plain of task i's pairs on free class k hopeful.
func (t *table) hopeFor(plain []int32, k int, i int32) {
	if t.in.stayIn(k, i) == 0 || plain == nil {
		return
	}
	pair := t.pair[k]
	for j := range int32(t.n) {
		if at := int(i)*t.n + int(j); plain[at] > 0 {
			pair[at] = plain[at] + int32(quarters*t.in.hope(k, i, j))
			pair[int(j)*t.n+int(i)] = pair[at]
			t.top = max(t.top, int64(pair[at]))
		}
	}
}
