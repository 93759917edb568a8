package trees

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/predict/internal/num"
)

// waves is a noisy smooth function of two of three columns.
func waves(n int, seed uint64) (x [][]float64, y []float64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	for range n {
		row := []float64{rng.Float64() * 6, rng.Float64(), rng.Float64()}
		x = append(x, row)
		y = append(y, math.Sin(row[0])+2*row[1]+0.05*rng.NormFloat64())
	}
	return x, y
}

func TestTreesLearn(t *testing.T) {
	x, y := waves(800, 1)
	testX, testY := waves(400, 2)
	m := Fit(x, y, nil, Options{Rounds: 200, Depth: 3})
	var squares float64
	for i := range testX {
		e := m.Predict(testX[i]) - testY[i]
		squares += e * e
	}
	if rmse := math.Sqrt(squares / float64(len(testX))); rmse > 0.12 {
		t.Errorf("RMSE on new rows is %.3f, want at most 0.12 (noise is 0.05)", rmse)
	}
}

// TestTreesFirstSplit compares one stump with trying every cut by hand.
func TestTreesFirstSplit(t *testing.T) {
	x := [][]float64{{1}, {2}, {3}, {4}, {5}, {6}}
	y := []float64{0, 0, 0, 9, 9, 12}
	m := Fit(x, y, nil, Options{Rounds: 1, Depth: 1, Rate: 1, MinLeaf: 1, Penalty: 1e-9})
	for i, want := range []float64{0, 0, 0, 10, 10, 10} {
		if got := m.Predict(x[i]); !(math.Abs(got-want) <= 1e-6) {
			t.Errorf("at %v: %v, want %v", x[i], got, want)
		}
	}
}

func TestTreesMonotone(t *testing.T) {
	x, y := waves(500, 3)
	for _, sign := range []int8{1, -1} {
		m := Fit(x, y, nil, Options{Rounds: 80, Monotone: []int8{sign}, Huber: 0.1})
		for _, row := range x[:50] {
			before := math.Inf(-int(sign))
			for v := 0.0; v <= 6; v += 0.1 {
				at := m.Predict([]float64{v, row[1], row[2]})
				if float64(sign)*(at-before) < -1e-9 {
					t.Fatalf("sign %d: falls the wrong way at %v", sign, v)
				}
				before = at
			}
		}
	}
}

func TestTreesDeterministicAndJSON(t *testing.T) {
	x, y := waves(300, 4)
	o := Options{Rounds: 30, RowShare: 0.6, ColumnShare: 0.6, Seed: 5}
	a, b := Fit(x, y, nil, o), Fit(x, y, nil, o)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Fatalf("two fits differ: %s", diff)
	}
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var back Ensemble
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, &back); diff != "" {
		t.Errorf("read back: %s", diff)
	}
	if err := back.Check(); err != nil {
		t.Error(err)
	}
}

func TestTreesMissingGoesLeft(t *testing.T) {
	x := [][]float64{{math.NaN()}, {math.NaN()}, {1}, {2}}
	m := Fit(x, []float64{5, 5, 1, 1}, nil, Options{Rounds: 50, Depth: 2, MinLeaf: 1, Bins: 8})
	if got := m.Predict([]float64{math.NaN()}); !num.Finite(got) {
		t.Errorf("missing value gives %v", got)
	}
}

func TestTreesCheck(t *testing.T) {
	leaf := Node{Feature: -1, Threshold: 1}
	for _, tt := range []struct {
		name, want string
		t          Ensemble
	}{
		{"columns below 0", "columns", Ensemble{Columns: -1}},
		{"an infinite base", "base", Ensemble{Base: math.Inf(1)}},
		{"roots that fall", "root 1 is 0", Ensemble{Columns: 1, Roots: []int32{1, 0}, Nodes: []Node{leaf, leaf}}},
		{"a root twice", "root 1 is 0", Ensemble{Columns: 1, Roots: []int32{0, 0}, Nodes: []Node{leaf, leaf}}},
		{"jump to the next", "node 0 jumps to 1, want 2 to 2", Ensemble{Columns: 1, Roots: []int32{0}, Nodes: []Node{{Feature: 0, Right: 1}, leaf, leaf}}},
		{"root beyond", "root 0 is 3", Ensemble{Columns: 1, Roots: []int32{3}, Nodes: []Node{leaf}}},
		{"negative root", "root 0 is -1", Ensemble{Columns: 1, Roots: []int32{-1}, Nodes: []Node{leaf}}},
		{"feature beyond", "feature 1 of 1", Ensemble{Columns: 1, Roots: []int32{0}, Nodes: []Node{{Feature: 1, Right: 2}, leaf, leaf}}},
		{"jump back", "node 0 jumps to 0", Ensemble{Columns: 1, Roots: []int32{0}, Nodes: []Node{{Feature: 0, Right: 0}, leaf, leaf}}},
		{"open end", "node 2 jumps to 9", Ensemble{Columns: 1, Roots: []int32{0}, Nodes: []Node{{Feature: 0, Right: 2}, leaf, {Feature: 0, Right: 9}}}},
		{"NaN", "threshold NaN", Ensemble{Columns: 1, Roots: []int32{0}, Nodes: []Node{{Feature: -1, Threshold: math.NaN()}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.t.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestLeavesHoldEnough: no leaf rests on fewer rows than asked for, on either side.
func TestLeavesHoldEnough(t *testing.T) {
	x, y := waves(200, 3)
	for i := range y { // one row stands out at either end
		if i < 2 {
			x[i][0], y[i] = 100*float64(2*i-1), 50
		}
	}
	m := Fit(x, y, nil, Options{Rounds: 1, Depth: 6, MinLeaf: 9, Bins: 255})
	rows := make(map[float64]int)
	for i := range x {
		rows[m.Predict(x[i])]++
	}
	if len(rows) < 4 {
		t.Fatalf("%d leaves, want a tree", len(rows))
	}
	for value, n := range rows {
		if n < 9 {
			t.Errorf("leaf %v holds %d rows, want 9", value, n)
		}
	}
}

// TestAgainstTheData: where a slope is forced and the data say the opposite, no
// column is cut at all.
func TestAgainstTheData(t *testing.T) {
	var x [][]float64
	var y []float64
	for i := range 100 {
		x, y = append(x, []float64{float64(i)}), append(y, -float64(i))
	}
	if m := Fit(x, y, nil, Options{Rounds: 5, Monotone: []int8{1}}); len(m.Nodes) != 5 {
		t.Errorf("%d nodes, want five leaves", len(m.Nodes))
	}
	if m := Fit(x, y, nil, Options{Rounds: 5, Monotone: []int8{-1}}); len(m.Nodes) < 10 {
		t.Errorf("%d nodes, want five trees", len(m.Nodes))
	}
}

func BenchmarkTreesPredict(b *testing.B) {
	x, y := waves(2000, 6)
	m := Fit(x, y, nil, Options{Rounds: 300})
	b.ReportAllocs()
	for b.Loop() {
		m.Predict(x[0])
	}
}

func FuzzTreesJSON(f *testing.F) {
	f.Add([]byte(`{"columns":1,"base":1,"roots":[0],"nodes":[[0,2,1.5],[1],[2]]}`))
	f.Add([]byte(`{"columns":1,"roots":[0],"nodes":[[0,0,1]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m Ensemble
		if json.Unmarshal(data, &m) != nil || m.Check() != nil || m.Columns > 1000 {
			return
		}
		if v := m.Predict(make([]float64, m.Columns)); math.IsNaN(v) {
			t.Errorf("predicts %v", v)
		}
	})
}
