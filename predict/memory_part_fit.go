package predict

import (
	"cmp"
	"math"
	"slices"
)

// memoryRow is an observation ready for fitting.
type memoryRow struct {
	task     memoryTask
	peak     float64 // bytes
	context  float64 // measured on the row's host; NaN is unknown
	censored bool
	group    int
}

// Sizes of the two tree ensembles. Many shallow trees on half of the columns
// each scored best in group-wise cross-validation; see docs/adr.
const (
	residualBags   = 2
	residualRounds = 150
	spreadBags     = 2
	// leastForTrees is the number of rows below which no residual is fitted.
	leastForTrees = 200
)

// manyGroups is the number of groups from which calibration leaves out whole
// groups instead of rows: then new tasks will be of new groups.
const manyGroups = 12

// crossFolds is the number of folds that a calibration leaves out in turn.
const crossFolds = 5

// fitPart fits one kind of task. used marks the terms that may get a
// coefficient. O(rows × trees).
func fitPart(rows []memoryRow, allowed []bool, seed uint64) (*memoryPart, error) {
	p, err := fitMean(rows, allowed, seed)
	if err != nil {
		return nil, err
	}
	p.Rows = len(rows)
	p.bounds(rows)
	fold, groups := foldsOf(rows, seed)
	p.Groups = groups
	left, err := leftOut(rows, fold, allowed, seed)
	if err != nil {
		return nil, err
	}
	p.calibrate(rows, left, fold, seed)
	if groups < 3 || groups >= manyGroups || len(rows) < leastForTrees {
		return p, nil
	}
	left, err = leftOut(rows, dealGroups(groupsOf(rows), crossFolds), allowed, seed)
	if err != nil {
		return nil, err
	}
	p.widen(rows, left)
	return p, nil
}

// total is the predicted peak of a training row on its own host.
func (p *memoryPart) total(r *memoryRow) float64 {
	at := p.at(&r.task)
	if math.IsNaN(r.context) {
		return at.context + at.rest
	}
	return r.context + at.rest
}

// fitMean fits coefficients and residual.
func fitMean(rows []memoryRow, allowed []bool, seed uint64) (*memoryPart, error) {
	p := &memoryPart{}
	off, err := p.fitTerms(rows, allowed)
	if err != nil {
		return nil, err
	}
	if len(rows) < leastForTrees {
		return p, nil
	}
	var x [][]float64
	var y []float64
	for i := range rows {
		if !rows[i].censored {
			mean := rows[i].task.x
			clear(mean[rows[i].task.used:]) // the others are for the spread
			x = append(x, mean[:])
			y = append(y, math.Log(rows[i].peak/p.total(&rows[i])))
		}
	}
	o := treeOptions{
		Rounds: residualRounds, Depth: 4, Rate: 0.08, MinLeaf: 5, Huber: max(0.005, 1.5*off), Penalty: 2,
		RowShare: 0.7, ColumnShare: 0.5, Monotone: rows[0].task.monotone(),
	}
	bags := make([]*trees, residualBags)
	for b := range bags {
		o.Seed = seed + uint64(b)
		bags[b] = fitTrees(x, y, nil, o)
	}
	p.Residual = meanOf(bags)
	return p, nil
}

// fitTerms sets the coefficients by non-negative least squares on relative
// errors, reweighted so that a few wild rows do not decide (an approximation of
// least absolute relative error). A censored row counts only while it is
// predicted below what was seen. It returns the median relative error.
func (p *memoryPart) fitTerms(rows []memoryRow, allowed []bool) (float64, error) {
	n := rows[0].task.n
	x := make([][]float64, len(rows))
	y := make([]float64, len(rows))
	w := make([]float64, len(rows))
	for i := range rows {
		r := &rows[i]
		x[i] = make([]float64, n)
		for j := range n {
			if allowed[j] {
				x[i][j] = r.task.terms[j]
			}
		}
		y[i] = r.peak - r.task.fixed
		if !math.IsNaN(r.context) {
			x[i][termContext], y[i] = 0, y[i]-r.context
		}
		w[i] = 1 / (r.peak * r.peak)
		if r.censored {
			w[i] = 0
		}
	}
	var off float64
	for range 12 {
		coef, err := fitNNLS(x, y, w)
		if err != nil {
			return 0, err
		}
		p.Coef = coef
		off = reweight(rows, x, y, coef, w)
	}
	for j := range p.Coef {
		p.Coef[j] = roundTo(p.Coef[j], 6) // few enough that no machine rounds another way
	}
	return roundTo(off, 3), nil
}

// reweight sets each row's weight from its relative error and returns the
// median of these errors.
func reweight(rows []memoryRow, x [][]float64, y, coef, w []float64) float64 {
	errs := make([]float64, 0, len(rows))
	rel := make([]float64, len(rows))
	for i := range rows {
		rel[i] = (y[i] - dot(coef, x[i])) / rows[i].peak
		if !rows[i].censored {
			errs = append(errs, math.Abs(rel[i]))
		}
	}
	slices.Sort(errs)
	off := 0.0
	if len(errs) > 0 {
		off = errs[len(errs)/2]
	}
	scale := max(off, 0.002)
	for i := range rows {
		w[i] = 1 / (rows[i].peak * rows[i].peak) / math.Sqrt(1+float64(rel[i]/scale)*(rel[i]/scale))
		if rows[i].censored && rel[i] < 0 {
			w[i] = 0
		}
	}
	return off
}

// bounds stores the range of each feature.
func (p *memoryPart) bounds(rows []memoryRow) {
	used := rows[0].task.used
	p.Lo = slices.Clone(rows[0].task.x[:used])
	p.Hi = slices.Clone(p.Lo)
	for i := range rows {
		for j, v := range rows[i].task.x[:used] {
			p.Lo[j], p.Hi[j] = min(p.Lo[j], v), max(p.Hi[j], v)
		}
	}
	for j := range p.Lo {
		p.Lo[j], p.Hi[j] = round9(p.Lo[j]), round9(p.Hi[j])
	}
}

func pickIf(at []int, keep func(int) bool) []int {
	var out []int
	for _, i := range at {
		if keep(i) {
			out = append(out, i)
		}
	}
	return out
}

// meanOf joins ensembles into one that predicts their mean.
func meanOf(bags []*trees) *trees {
	out := &trees{Columns: bags[0].Columns}
	share := 1 / float64(len(bags))
	for _, t := range bags {
		shift := int32(len(out.Nodes))
		out.Base += t.Base * share
		for _, r := range t.Roots {
			out.Roots = append(out.Roots, r+shift)
		}
		for _, n := range t.Nodes {
			if n.Feature >= 0 {
				n.Right += shift
			} else {
				n.Threshold = round9(n.Threshold * share)
			}
			out.Nodes = append(out.Nodes, n)
		}
	}
	out.Base = round9(out.Base)
	return out
}

// foldsOf deals rows to folds: by row, or by whole groups where there are many.
func foldsOf(rows []memoryRow, seed uint64) (fold []int, groups int) {
	names := groupsOf(rows)
	distinct := slices.Clone(names)
	slices.Sort(distinct)
	groups = len(slices.Compact(distinct))
	if groups >= manyGroups {
		return dealGroups(names, crossFolds), groups
	}
	return dealRows(len(rows), crossFolds, seed), groups
}

func groupsOf(rows []memoryRow) []int {
	names := make([]int, len(rows))
	for i := range rows {
		names[i] = rows[i].group
	}
	return names
}

// dealGroups deals whole groups to k folds, the largest first, each to the fold
// with the fewest rows so far.
func dealGroups(group []int, k int) []int {
	count := make(map[int]int)
	for _, g := range group {
		count[g]++
	}
	order := make([]int, 0, len(count))
	for g := range count {
		order = append(order, g)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	load := make([]int, k)
	to := make(map[int]int, len(order))
	for _, g := range order {
		at := slices.Index(load, slices.Min(load))
		to[g] = at
		load[at] += count[g]
	}
	fold := make([]int, len(group))
	for i, g := range group {
		fold[i] = to[g]
	}
	return fold
}

func splitRows(rows []memoryRow, fold []int, k int) (train, test []int) {
	for i := range rows {
		if fold[i] == k {
			test = append(test, i)
		} else {
			train = append(train, i)
		}
	}
	return train, test
}

func pick[T any](from []T, at []int) []T {
	out := make([]T, len(at))
	for i, j := range at {
		out[i] = from[j]
	}
	return out
}
