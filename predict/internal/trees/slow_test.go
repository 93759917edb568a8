package trees

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/predict/internal/num"
)

// slowTree is boosting by its definition: every cut between two values of every column is
// tried on the rows themselves, without bins.
type slowTree struct {
	column      int
	cut, value  float64
	left, right *slowTree
}

func (s *slowTree) predict(x []float64) float64 {
	for s.left != nil {
		if x[s.column] > s.cut {
			s = s.right
		} else {
			s = s.left // a missing value, too
		}
	}
	return s.value
}

// slowFit boosts with all rows and columns.
func slowFit(x [][]float64, y, w []float64, o Options) func([]float64) float64 {
	n, total := len(x), 0.0
	weight := slices.Repeat([]float64{1}, n)
	for i := range w {
		weight[i] = w[i]
		total += w[i]
	}
	for i := range w {
		weight[i] *= float64(n) / total
	}
	base := 0.0
	if o.Huber > 0 { // the least value that half of the weight is at or below
		base = math.Inf(1)
		for i := range y {
			below := 0.0
			for j := range y {
				if y[j] <= y[i] {
					below += weight[j]
				}
			}
			if below >= float64(n)/2-1e-9 {
				base = min(base, y[i])
			}
		}
	} else {
		for i := range y {
			base += weight[i] * y[i] / float64(n)
		}
	}
	var trees []*slowTree
	all := func(row []float64) float64 {
		sum := base
		for _, t := range trees {
			sum += t.predict(row)
		}
		return sum
	}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	for range o.Rounds {
		s := &slowGrower{x: x, o: o, grad: make([]float64, n), hess: make([]float64, n)}
		for i := range x {
			r := all(x[i]) - y[i]
			s.hess[i] = weight[i]
			if o.Huber > 0 {
				s.hess[i] /= math.Sqrt(1 + r*r/o.Huber/o.Huber)
			}
			s.grad[i] = s.hess[i] * r
		}
		trees = append(trees, s.grow(rows, 0, math.Inf(-1), math.Inf(1)))
	}
	return all
}

type slowGrower struct {
	x          [][]float64
	o          Options
	grad, hess []float64
}

// leaf returns the best value of rows within bounds, and what it lowers the loss by.
func (s *slowGrower) leaf(rows []int, lo, hi float64) (value, gain float64) {
	var g, h float64
	for _, i := range rows {
		g, h = g+s.grad[i], h+s.hess[i]
	}
	value = min(hi, max(lo, -g/(h+s.o.Penalty)))
	return value, -g*value - (h+s.o.Penalty)*value*value/2
}

func (s *slowGrower) grow(rows []int, depth int, lo, hi float64) *slowTree {
	value, best := s.leaf(rows, lo, hi)
	out := &slowTree{value: s.o.Rate * value}
	if depth == s.o.Depth {
		return out
	}
	var left, right []int
	var middle float64
	for j := range s.x[0] {
		for _, cut := range s.cuts(j) {
			var low, high []int
			for _, i := range rows {
				if s.x[i][j] > cut {
					high = append(high, i)
				} else {
					low = append(low, i)
				}
			}
			if len(low) < s.o.MinLeaf || len(high) < s.o.MinLeaf {
				continue
			}
			lv, lg := s.leaf(low, lo, hi)
			rv, rg := s.leaf(high, lo, hi)
			if j < len(s.o.Monotone) && float64(s.o.Monotone[j])*(rv-lv) < 0 {
				continue
			}
			if lg+rg > best+1e-9 {
				best, left, right, middle = lg+rg, low, high, (lv+rv)/2
				out.column, out.cut = j, cut
			}
		}
	}
	if left == nil {
		return out
	}
	below, above := [2]float64{lo, hi}, [2]float64{lo, hi}
	if out.column < len(s.o.Monotone) {
		switch s.o.Monotone[out.column] {
		case 1:
			below[1], above[0] = middle, middle
		case -1:
			below[0], above[1] = middle, middle
		}
	}
	out.left, out.right = s.grow(left, depth+1, below[0], below[1]), s.grow(right, depth+1, above[0], above[1])
	return out
}

// cuts are half way between the values of a column.
func (s *slowGrower) cuts(j int) []float64 {
	var values, cuts []float64
	for _, row := range s.x {
		if !math.IsNaN(row[j]) {
			values = append(values, row[j])
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	for k := range values[1:] {
		cuts = append(cuts, (values[k]+values[k+1])/2)
	}
	return cuts
}

// TestFitAgainstItsDefinition: the trees of all options but the drawn shares.
func TestFitAgainstItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	for round := range 60 {
		const n, p = 40, 4
		x, y, w := make([][]float64, n), make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = []float64{float64(rng.IntN(8)), rng.NormFloat64(), rng.NormFloat64(), float64(rng.IntN(2))}
			if rng.IntN(10) == 0 {
				x[i][rng.IntN(p)] = math.NaN()
			}
			y[i], w[i] = rng.NormFloat64()+x[i][0]/4+2*x[i][3], 0.2+rng.Float64()
			if math.IsNaN(y[i]) {
				y[i] = 3
			}
		}
		o := Options{Rounds: 1 + rng.IntN(6), Depth: 1 + rng.IntN(4), Rate: 0.3, MinLeaf: 1 + rng.IntN(6), Penalty: 0.5 + rng.Float64(), Bins: 255}
		if round%2 == 1 {
			o.Huber = 0.5
		}
		if round%3 > 0 {
			o.Monotone = []int8{int8(round%3*2 - 3), 0, 1}
		}
		if round%5 == 0 {
			w = nil
		}
		fast, slow := Fit(x, y, w, o), slowFit(x, y, w, o)
		for i := range x {
			if got, want := fast.Predict(x[i]), slow(x[i]); !(math.Abs(got-want) <= 1e-6) {
				t.Fatalf("round %d, %+v: row %v gives %v, by definition %v", round, o, x[i], got, want)
			}
		}
	}
}

// TestDefaults: what is left out is as documented.
func TestDefaults(t *testing.T) {
	x, y := waves(300, 8)
	zero := Fit(x, y, nil, Options{})
	said := Fit(x, y, nil, Options{Rounds: 200, Depth: 4, Rate: 0.1, MinLeaf: 5, Penalty: 1, RowShare: 1, ColumnShare: 1, Bins: 64})
	most, more := Fit(x, y, nil, Options{Bins: 255, Rounds: 3}), Fit(x, y, nil, Options{Bins: 1000, Rounds: 3})
	for i := range x {
		if zero.Predict(x[i]) != said.Predict(x[i]) || most.Predict(x[i]) != more.Predict(x[i]) {
			t.Fatalf("row %d: the defaults give %v, want %v; 1000 bins %v, want %v", i, zero.Predict(x[i]), said.Predict(x[i]), more.Predict(x[i]), most.Predict(x[i]))
		}
	}
	if len(zero.Roots) != 200 {
		t.Errorf("%d trees, want 200", len(zero.Roots))
	}
}

// TestBins: so many bins have one threshold less, at values that as many rows lie between.
func TestBins(t *testing.T) {
	x := make([][]float64, 100)
	for i := range x {
		x[i] = []float64{float64(i), float64(i / 30), 7, math.NaN()}
	}
	for j, want := range [][]float64{{24.5, 49.5, 74.5}, {0.5, 1.5, 2.5}, nil, nil} {
		if got := quantileCuts(x, j, 4); !slices.Equal(got, want) {
			t.Errorf("column %d: cuts %v, want %v", j, got, want)
		}
	}
	if got := quantileCuts(x[:3], 0, 64); !slices.Equal(got, []float64{0.5, 1.5}) {
		t.Errorf("three values: cuts %v", got)
	}
}

// TestShares: each tree sees its share of the columns, one at least, and about its share
// of the rows.
func TestShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 2))
	x, y := make([][]float64, 200), make([]float64, 200)
	for i := range x {
		x[i] = make([]float64, 10)
		for j := range x[i] {
			x[i][j] = rng.NormFloat64()
			y[i] += x[i][j]
		}
	}
	for share, most := range map[float64]int{0.3: 3, 0.01: 1, 0.25: 3} {
		m := Fit(x, y, nil, Options{Rounds: 40, Depth: 6, MinLeaf: 2, ColumnShare: share})
		used := make(map[int32]bool)
		for k, root := range m.Roots {
			end := int32(len(m.Nodes))
			if k+1 < len(m.Roots) {
				end = m.Roots[k+1]
			}
			in := make(map[int32]bool)
			for _, n := range m.Nodes[root:end] {
				if n.Feature >= 0 {
					in[n.Feature], used[n.Feature] = true, true
				}
			}
			if len(in) == 0 || len(in) > most {
				t.Errorf("share %v: tree %d asks about %d columns, want 1 to %d", share, k, len(in), most)
			}
		}
		if len(used) != 10 {
			t.Errorf("share %v: %d columns were ever drawn", share, len(used))
		}
	}
	// One leaf of all rows has their mean; of a third of them another each time.
	leaves := make(map[float64]bool)
	for _, n := range Fit(x, y, nil, Options{Rounds: 20, MinLeaf: 150, RowShare: 0.3}).Nodes {
		leaves[n.Threshold] = true
	}
	if len(leaves) != 20 {
		t.Errorf("%d trees differ of 20 on rows that are drawn", len(leaves))
	}
}

// TestWeightsAreShares: of weights only their ratios count, and of columns that say the same
// the first is asked.
func TestWeightsAreShares(t *testing.T) {
	x, y := waves(100, 11)
	w, small := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		x[i] = append(x[i], x[i]...)
		w[i] = float64(1 + i%3)
		small[i] = w[i] / 1024
	}
	m, same := Fit(x, y, w, Options{}), Fit(x, y, small, Options{})
	for i := range x {
		if a, b := m.Predict(x[i]), same.Predict(x[i]); !(math.Abs(a-b) <= 1e-9) {
			t.Fatalf("row %d: %v, with small weights %v", i, a, b)
		}
	}
	for _, n := range m.Nodes {
		if n.Feature > 2 {
			t.Fatalf("column %d is asked, which repeats column %d", n.Feature, n.Feature-3)
		}
	}
	if got := Fit(x[:1], y[:1], nil, Options{}).Predict(x[7]); !(math.Abs(got-y[0]) <= 1e-8) {
		t.Errorf("one row of %v gives %v", y[0], got)
	}
}

// TestNothingToFit: rows, targets and weights that do not match give 0.
func TestNothingToFit(t *testing.T) {
	x, y := [][]float64{{1}, {2}}, []float64{3, 4}
	for name, m := range map[string]*Ensemble{
		"no rows": Fit(nil, nil, nil, Options{}), "a target less": Fit(x, y[:1], nil, Options{}), "a weight less": Fit(x, y, y[:1], Options{}),
		"no weight": Fit(x, y, []float64{0, 0}, Options{}),
	} {
		if got := m.Predict(x[0]); got != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestMeanOfBags: the mean of ensembles predicts the mean of what they predict.
func TestMeanOfBags(t *testing.T) {
	x, y := waves(200, 9)
	bags := make([]*Ensemble, 3)
	for i := range bags {
		bags[i] = Fit(x, y, nil, Options{Rounds: 10 + i, RowShare: 0.5, Seed: uint64(i)})
	}
	m := Mean(bags)
	if err := m.Check(); err != nil || m.Columns != 3 || len(m.Roots) != 33 {
		t.Fatalf("%d columns, %d trees, %v", m.Columns, len(m.Roots), err)
	}
	if one := Mean(bags[:1]); one.Predict(x[0]) != bags[0].Predict(x[0]) {
		t.Errorf("the mean of one is %v, want %v", one.Predict(x[0]), bags[0].Predict(x[0]))
	}
	if m.Base != num.Round9(m.Base) {
		t.Errorf("the base %v shows the last bits of a sum", m.Base)
	}
	for i := range x {
		want := (bags[0].Predict(x[i]) + bags[1].Predict(x[i]) + bags[2].Predict(x[i])) / 3
		if got := m.Predict(x[i]); !(math.Abs(got-want) <= 1e-7) {
			t.Errorf("row %d: %v, want %v", i, got, want)
		}
	}
}

// TestPruned: whatever is decided beforehand, the first columns or the last, the answer is
// that of the whole trees to the bit.
func TestPruned(t *testing.T) {
	x, y := waves(300, 10)
	rng := rand.New(rand.NewPCG(12, 3))
	var p Pruned
	for _, o := range []Options{{Rounds: 30, Depth: 5}, {Rounds: 3, MinLeaf: 200}, {Rounds: 10, Depth: 1}} {
		m := Fit(x, y, nil, o)
		for range 50 {
			known := 1 + rng.IntN(2)
			asked, want := make([]Rest, 4), make([]float64, 4)
			row := slices.Clone(x[rng.IntN(len(x))])
			for _, at := range []int{0, 3 - known} {
				p.Prune(m, row[at:at+known], at)
				for j := range asked {
					other := slices.Clone(row)
					for c := range 3 {
						if c >= at && c < at+known {
							continue
						}
						other[c] = x[rng.IntN(len(x))][c]
						if at == 0 {
							asked[j][c-known] = other[c]
						} else {
							asked[j][c] = other[c]
						}
					}
					want[j] = m.Predict(other)
				}
				got := slices.Repeat([]float64{99}, 4)
				if p.Predict(asked, got); !slices.Equal(got, want) {
					t.Fatalf("columns from %d: %v, want %v", at, got, want)
				}
			}
		}
	}
	// A value at a threshold goes left, before and after pruning.
	m := &Ensemble{Columns: 2, Roots: []int32{0}, Nodes: []Node{{0, 2, 5}, {-1, 0, 1}, {1, 4, 7}, {-1, 0, 2}, {-1, 0, 3}}}
	for _, c := range [][3]float64{{5, 9, 1}, {5.1, 7, 2}, {5.1, 7.1, 3}} {
		p.Prune(m, c[:1], 0)
		first := []float64{0}
		p.Predict([]Rest{{c[1]}}, first)
		p.Prune(m, c[1:2], 1)
		last := []float64{0}
		p.Predict([]Rest{{c[0]}}, last)
		if got := m.Predict(c[:2]); got != c[2] || first[0] != c[2] || last[0] != c[2] {
			t.Errorf("%v: %v, pruned by the first %v, by the last %v, want %v", c[:2], got, first, last, c[2])
		}
	}
}
