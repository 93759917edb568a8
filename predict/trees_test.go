package predict

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	m := fitTrees(x, y, nil, treeOptions{Rounds: 200, Depth: 3})
	var squares float64
	for i := range testX {
		e := m.predict(testX[i]) - testY[i]
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
	m := fitTrees(x, y, nil, treeOptions{Rounds: 1, Depth: 1, Rate: 1, MinLeaf: 1, Penalty: 1e-9})
	for i, want := range []float64{0, 0, 0, 10, 10, 10} {
		if got := m.predict(x[i]); math.Abs(got-want) > 1e-6 {
			t.Errorf("at %v: %v, want %v", x[i], got, want)
		}
	}
}

func TestTreesMonotone(t *testing.T) {
	x, y := waves(500, 3)
	for _, sign := range []int8{1, -1} {
		m := fitTrees(x, y, nil, treeOptions{Rounds: 80, Monotone: []int8{sign}, Huber: 0.1})
		for _, row := range x[:50] {
			before := math.Inf(-int(sign))
			for v := 0.0; v <= 6; v += 0.1 {
				at := m.predict([]float64{v, row[1], row[2]})
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
	o := treeOptions{Rounds: 30, RowShare: 0.6, ColumnShare: 0.6, Seed: 5}
	a, b := fitTrees(x, y, nil, o), fitTrees(x, y, nil, o)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Fatalf("two fits differ: %s", diff)
	}
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var back trees
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, &back); diff != "" {
		t.Errorf("read back: %s", diff)
	}
	if err := back.check(); err != nil {
		t.Error(err)
	}
}

func TestTreesMissingGoesLeft(t *testing.T) {
	x := [][]float64{{math.NaN()}, {math.NaN()}, {1}, {2}}
	m := fitTrees(x, []float64{5, 5, 1, 1}, nil, treeOptions{Rounds: 50, Depth: 2, MinLeaf: 1, Bins: 8})
	if got := m.predict([]float64{math.NaN()}); !finite(got) {
		t.Errorf("missing value gives %v", got)
	}
}

func TestTreesCheck(t *testing.T) {
	leaf := treeNode{Feature: -1, Threshold: 1}
	for _, tt := range []struct {
		name string
		t    trees
	}{
		{"root beyond", trees{Columns: 1, Roots: []int32{3}, Nodes: []treeNode{leaf}}},
		{"negative root", trees{Columns: 1, Roots: []int32{-1}, Nodes: []treeNode{leaf}}},
		{"feature beyond", trees{Columns: 1, Roots: []int32{0}, Nodes: []treeNode{{Feature: 1, Right: 2}, leaf, leaf}}},
		{"jump back", trees{Columns: 1, Roots: []int32{0}, Nodes: []treeNode{{Feature: 0, Right: 0}, leaf, leaf}}},
		{"open end", trees{Columns: 1, Roots: []int32{0}, Nodes: []treeNode{{Feature: 0, Right: 2}, leaf, {Feature: 0, Right: 9}}}},
		{"NaN", trees{Columns: 1, Roots: []int32{0}, Nodes: []treeNode{{Feature: -1, Threshold: math.NaN()}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.t.check(); err == nil {
				t.Error("no error")
			}
		})
	}
}

func BenchmarkTreesPredict(b *testing.B) {
	x, y := waves(2000, 6)
	m := fitTrees(x, y, nil, treeOptions{Rounds: 300})
	b.ReportAllocs()
	for b.Loop() {
		m.predict(x[0])
	}
}

func FuzzTreesJSON(f *testing.F) {
	f.Add([]byte(`{"columns":1,"base":1,"roots":[0],"nodes":[[0,2,1.5],[1],[2]]}`))
	f.Add([]byte(`{"columns":1,"roots":[0],"nodes":[[0,0,1]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m trees
		if json.Unmarshal(data, &m) != nil || m.check() != nil || m.Columns > 1000 {
			return
		}
		if v := m.predict(make([]float64, m.Columns)); math.IsNaN(v) {
			t.Errorf("predicts %v", v)
		}
	})
}
