package pairs

import (
	"context"
	"fmt"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// maxCells bounds the memory of a table: 1 GiB.
const maxCells = 1 << 28

// table holds the values of all sets of at most two tasks, residents included.
type table struct {
	in     *instance.Instance
	n      int
	single [][]int64 // [free class][task], 0 if not allowed
	pair   [][]int32 // [free class][task*n + task], in quarters, 0 if not allowed
	gain   [][]int64 // [instance.Class][task], over the residents alone; nil for other classes
	top    int64     // no value on a free class is larger, in quarters
}

// TooMany refuses a table that is too large.
func TooMany(tasks, kinds int) error {
	if kinds > 0 && tasks > 0 && tasks > maxCells/tasks/kinds {
		return fmt.Errorf("packer: matching: %d tasks on %d kinds of GPU or more need a table of more than %d pairs; use Greedy, or pack in parts", tasks, kinds, maxCells)
	}
	return nil
}

// newTable evaluates everything. O(classes · n²) time and memory.
func newTable(ctx context.Context, e *instance.Evaluator) (*table, error) {
	in, n := e.In, len(e.In.Tasks)
	if in.MaxSet > 1 {
		if err := TooMany(n, in.Free); err != nil {
			return nil, err
		}
	}
	t := &table{in: in, n: n, gain: make([][]int64, len(in.Classes))}
	for k := range in.Classes {
		if k >= in.Free {
			if err := t.beside(e, k); err != nil {
				return nil, err
			}
			continue
		}
		c := &in.Classes[k]
		single, err := e.Singles(c)
		if err != nil {
			return nil, err
		}
		var pair []int32
		if in.MaxSet > 1 {
			pair = make([]int32, n*n)
		}
		err = e.Pairs(ctx, c, single, func(i int, partners, values []int32) {
			to := pair[i*n : (i+1)*n]
			most := int32(0)
			for m, j := range partners {
				v := instance.Quarters * values[m]
				to[j], most = v, max(most, v)
			}
			t.top = max(t.top, int64(most))
		})
		if err != nil {
			return nil, err
		}
		mirror(ctx, pair, n)
		t.top = max(t.top, instance.Quarters*slices.Max(append(single, 0)))
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
func (t *table) beside(e *instance.Evaluator, k int) error {
	c := &e.In.Classes[k]
	if !e.In.Open(c) {
		return nil
	}
	t.gain[k] = make([]int64, t.n)
	one := make([]int32, 1)
	for i := range t.gain[k] {
		one[0] = int32(i)
		v, err := e.Together(c, one, c.Base)
		if err != nil {
			return err
		}
		if v.Code == 0 {
			t.gain[k][i] = v.Units - c.Base
		}
	}
	return nil
}

// SingleValue implements instance.Values.
func (t *table) SingleValue(k, i int) (int64, error) { return t.single[k][i], nil }

// Quick implements instance.Values.
func (t *table) Quick() bool { return true }

// SetValue implements instance.Values.
func (t *table) SetValue(k int, tasks []int32, _ int64) (int64, error) {
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
		return t.in.Classes[k].Base
	case k >= t.in.Free:
		if t.gain[k] == nil || j != none && j != i || t.gain[k][i] == 0 {
			return 0
		}
		return t.in.Classes[k].Base + t.gain[k][i]
	case j == none || j == i:
		return t.single[k][i]
	case t.pair[k] == nil:
		return 0
	}
	// Callers try many i for one j.
	return int64(t.pair[k][int(j)*t.n+int(i)]) / instance.Quarters
}

// hopeful returns the table in which the sets on free classes are worth what
// they would be on the best of their members' homes: no less than on any GPU.
func (t *table) hopeful(ctx context.Context) *table {
	if !t.in.Homes {
		return t
	}
	h := *t
	h.gain = make([][]int64, len(t.gain))
	for k, gain := range t.gain {
		h.gain[k] = slices.Clone(gain)
		for i, v := range gain {
			if v > 0 {
				h.gain[k][i] += t.in.StayIn(k, int32(i))
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
				h.single[k][i] += t.in.StayIn(k, i)
				h.top = max(h.top, instance.Quarters*h.single[k][i])
			}
			h.hopeFor(t.pair[k], k, i)
		}
	}
	return &h
}

// hopeFor makes the values plain of task i's pairs on free class k hopeful.
func (t *table) hopeFor(plain []int32, k int, i int32) {
	if t.in.StayIn(k, i) == 0 || plain == nil {
		return
	}
	pair := t.pair[k]
	for j := range int32(t.n) {
		if at := int(i)*t.n + int(j); plain[at] > 0 {
			pair[at] = plain[at] + int32(instance.Quarters*t.in.Hope(k, i, j))
			pair[int(j)*t.n+int(i)] = pair[at]
			t.top = max(t.top, int64(pair[at]))
		}
	}
}

// none is the absence of a number.
const none = -1
