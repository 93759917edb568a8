package trees

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"example.com/colloc/predict/internal/num"
)

// Options configure [Fit]; the zero value is the documented default.
type Options struct {
	// Rounds is the number of trees; 0 means 200.
	Rounds int
	// Depth is the number of decisions from root to leaf; 0 means 4.
	Depth int
	// Rate shrinks every tree; 0 means 0.1.
	Rate float64
	// MinLeaf is the least number of rows in a leaf; 0 means 5.
	MinLeaf int
	// Penalty is the L2 penalty on leaf values, in units of row weight (whose
	// mean is scaled to 1); 0 means 1.
	Penalty float64
	// RowShare and ColumnShare are the fractions of rows and columns drawn for
	// each tree; 0 means all.
	RowShare, ColumnShare float64
	// Bins is the number of thresholds tried per feature; 0 means 64, at most 255.
	Bins int
	// Huber is the residual beyond which the loss grows linearly (pseudo-Huber);
	// 0 means squared loss everywhere. A small value approaches the median.
	Huber float64
	// Monotone holds +1, −1 or 0 per column: the sign of the slope to force.
	Monotone []int8
	// Seed chooses the rows and columns drawn.
	Seed uint64
}

func (o Options) withDefaults() Options {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&o.Rounds, 200)
	def(&o.Depth, 4)
	def(&o.MinLeaf, 5)
	def(&o.Bins, 64)
	o.Bins = min(o.Bins, 255)
	for _, f := range []struct {
		v *float64
		d float64
	}{{&o.Rate, 0.1}, {&o.Penalty, 1}, {&o.RowShare, 1}, {&o.ColumnShare, 1}} {
		if !(*f.v > 0) {
			*f.v = f.d
		}
	}
	return o
}

// Fit boosts trees on rows x (NaN is a missing value), targets y and
// weights w (nil is 1 for all). Rows are of one length, targets finite: callers
// have checked. No rows, or targets and weights of another number, give trees that
// predict 0. The same input gives the same trees on every machine.
// O(rounds × depth × rows × columns).
func Fit(x [][]float64, y, w []float64, o Options) *Ensemble {
	if len(x) == 0 || len(x) != len(y) || (w != nil && len(w) != len(x)) {
		return &Ensemble{}
	}
	b := newBooster(x, y, w, o.withDefaults())
	b.out.Base = num.Round9(b.base())
	for i := range b.score {
		b.score[i] = b.out.Base
	}
	for range b.o.Rounds {
		b.round()
	}
	return &b.out
}

// booster is the state of one fit.
type booster struct {
	o     Options
	x     [][]float64
	y, w  []float64
	bin   []uint8     // row-major bins: x ≤ cuts[j][bin], missing is bin 0
	cuts  [][]float64 // per column, rising thresholds
	score []float64   // current prediction of each row
	grad  []float64
	hess  []float64
	rng   *rand.Rand
	cols  []int
	used  []bool // columns of the tree being grown
	hist  []histBin
	out   Ensemble
}

type histBin struct {
	g, h float64
	n    int
}

func newBooster(x [][]float64, y, w []float64, o Options) *booster {
	n, p := len(x), len(x[0])
	b := &booster{
		o: o, x: x, y: y, w: make([]float64, n), score: make([]float64, n), grad: make([]float64, n),
		hess: make([]float64, n), bin: make([]uint8, n*p), cuts: make([][]float64, p), used: make([]bool, p),
		rng: rand.New(rand.NewPCG(o.Seed, 0x7265657374)), cols: make([]int, p), hist: make([]histBin, o.Bins+1),
		out: Ensemble{Columns: p},
	}
	var sum float64
	for i := range b.w {
		b.w[i] = num.Weight(w, i)
		sum += b.w[i]
	}
	if sum > 0 {
		for i := range b.w {
			b.w[i] *= float64(n) / sum
		}
	}
	for j := range p {
		b.cols[j] = j
		b.cuts[j] = quantileCuts(x, j, o.Bins)
		for i := range x {
			if v := x[i][j]; !math.IsNaN(v) {
				k, _ := slices.BinarySearch(b.cuts[j], v) // the first cut that is not below v
				b.bin[i*p+j] = uint8(k)
			}
		}
	}
	return b
}

// quantileCuts returns at most bins−1 thresholds half way between values of
// column j, evenly spread over its distinct values.
func quantileCuts(x [][]float64, j, bins int) []float64 {
	values := make([]float64, 0, len(x))
	for i := range x {
		if v := x[i][j]; !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	var cuts []float64
	for k := 1; k < bins; k++ {
		at := k * len(values) / bins
		if at == 0 || at >= len(values) {
			continue
		}
		// step to the nearest change at or after at
		for at < len(values) && values[at] == values[at-1] {
			at++
		}
		if at == len(values) {
			break
		}
		c := num.Round9(values[at-1] + (values[at]-values[at-1])/2)
		if len(cuts) == 0 || c > cuts[len(cuts)-1] {
			cuts = append(cuts, c)
		}
	}
	return cuts
}

// base is the weighted mean, or the weighted median under a Huber loss.
func (b *booster) base() float64 {
	if b.o.Huber > 0 {
		return weightedQuantile(b.y, b.w, 0.5)
	}
	var sum, weight float64
	for i := range b.y {
		sum += float64(b.w[i] * b.y[i])
		weight += b.w[i]
	}
	if weight == 0 {
		return 0
	}
	return sum / weight
}

func weightedQuantile(y, w []float64, q float64) float64 {
	order := make([]int, len(y))
	var total float64
	for i := range order {
		order[i] = i
		total += w[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(y[a], y[b]) })
	var run float64
	for _, i := range order {
		run += w[i]
		if run >= float64(q*total) {
			return y[i]
		}
	}
	return 0
}

// round grows one tree on the gradients of the current prediction.
func (b *booster) round() {
	var rows []int32
	for i := range b.y {
		r := b.score[i] - b.y[i]
		scale := 1.0
		if b.o.Huber > 0 {
			scale = 1 / math.Sqrt(1+float64(r/b.o.Huber)*(r/b.o.Huber))
		}
		b.grad[i], b.hess[i] = b.w[i]*scale*r, b.w[i]*scale
		if b.o.RowShare >= 1 || b.rng.Float64() < b.o.RowShare {
			rows = append(rows, int32(i))
		}
	}
	b.drawColumns()
	root := int32(len(b.out.Nodes))
	b.out.Roots = append(b.out.Roots, root)
	b.grow(rows, 0, math.Inf(-1), math.Inf(1))
	one := Ensemble{Roots: []int32{root}, Nodes: b.out.Nodes}
	for i := range b.x {
		b.score[i] += one.Predict(b.x[i])
	}
}

func (b *booster) drawColumns() {
	clear(b.used)
	keep := len(b.cols)
	if b.o.ColumnShare < 1 {
		keep = max(1, int(math.Round(b.o.ColumnShare*float64(keep))))
		b.rng.Shuffle(len(b.cols), func(i, j int) { b.cols[i], b.cols[j] = b.cols[j], b.cols[i] })
	}
	for _, j := range b.cols[:keep] {
		b.used[j] = true
	}
}

// split is the best cut of a node.
type split struct {
	gain        float64
	column, cut int
	left, right float64 // leaf values on both sides
	found       bool
}

// grow appends the subtree for rows, whose values must stay within [lo, hi].
func (b *booster) grow(rows []int32, depth int, lo, hi float64) {
	var g, h float64
	for _, i := range rows {
		g += b.grad[i]
		h += b.hess[i]
	}
	best := split{}
	if depth < b.o.Depth && len(rows) >= 2*b.o.MinLeaf {
		best = b.bestSplit(rows, g, h, lo, hi)
	}
	at := len(b.out.Nodes)
	if !best.found {
		b.out.Nodes = append(b.out.Nodes, Node{Feature: -1, Threshold: num.Round9(b.o.Rate * b.leaf(g, h, lo, hi))})
		return
	}
	b.out.Nodes = append(b.out.Nodes, Node{Feature: int32(best.column), Threshold: b.cuts[best.column][best.cut]})
	p := b.out.Columns
	// stable partition: left first
	var left, right []int32
	for _, i := range rows {
		if int(b.bin[int(i)*p+best.column]) <= best.cut {
			left = append(left, i)
		} else {
			right = append(right, i)
		}
	}
	llo, lhi, rlo, rhi := lo, hi, lo, hi
	mid := (best.left + best.right) / 2
	switch b.monotone(best.column) {
	case 1:
		lhi, rlo = mid, mid
	case -1:
		llo, rhi = mid, mid
	}
	b.grow(left, depth+1, llo, lhi)
	b.out.Nodes[at].Right = int32(len(b.out.Nodes))
	b.grow(right, depth+1, rlo, rhi)
}

func (b *booster) monotone(column int) int8 {
	if column < len(b.o.Monotone) {
		return b.o.Monotone[column]
	}
	return 0
}

// leaf is the Newton step −G/(H+λ), kept within [lo, hi].
func (b *booster) leaf(g, h, lo, hi float64) float64 {
	return min(hi, max(lo, -g/(h+b.o.Penalty)))
}

// gain of a leaf with value v: −(G v + ½ (H+λ) v²).
func (b *booster) gain(g, h, v float64) float64 {
	return -(float64(g*v) + float64(0.5*(h+b.o.Penalty)*v)*v)
}

func (b *booster) bestSplit(rows []int32, g, h, lo, hi float64) split {
	p := b.out.Columns
	best := split{gain: b.gain(g, h, b.leaf(g, h, lo, hi)) + 1e-12}
	for j := range p {
		cuts := len(b.cuts[j])
		if !b.used[j] || cuts == 0 {
			continue
		}
		hist := b.hist[:cuts+1]
		clear(hist)
		for _, i := range rows {
			k := &hist[b.bin[int(i)*p+j]]
			k.g += b.grad[i]
			k.h += b.hess[i]
			k.n++
		}
		b.scan(hist, j, histBin{g, h, len(rows)}, lo, hi, &best)
	}
	return best
}

// scan tries every cut of one column.
func (b *booster) scan(hist []histBin, column int, all histBin, lo, hi float64, best *split) {
	var left histBin
	sign := float64(b.monotone(column))
	for c := range len(hist) - 1 {
		left.g += hist[c].g
		left.h += hist[c].h
		left.n += hist[c].n
		if all.n-left.n < b.o.MinLeaf {
			return
		}
		if left.n < b.o.MinLeaf || hist[c].n == 0 { // or as the cut before
			continue
		}
		rg, rh := all.g-left.g, all.h-left.h
		lv, rv := b.leaf(left.g, left.h, lo, hi), b.leaf(rg, rh, lo, hi)
		if sign*(rv-lv) < 0 {
			continue
		}
		if gain := b.gain(left.g, left.h, lv) + b.gain(rg, rh, rv); gain > best.gain {
			*best = split{gain, column, c, lv, rv, true}
		}
	}
}

// Mean joins ensembles into one that predicts their mean.
func Mean(bags []*Ensemble) *Ensemble {
	out := &Ensemble{Columns: bags[0].Columns}
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
				n.Threshold = num.Round9(n.Threshold * share)
			}
			out.Nodes = append(out.Nodes, n)
		}
	}
	out.Base = num.Round9(out.Base)
	return out
}
