package lsq

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/predict/internal/num"
)

// slowNNLS is projected coordinate descent: obvious, slow, no factorisation.
func slowNNLS(x [][]float64, y, w []float64) []float64 {
	p := len(x[0])
	b := make([]float64, p)
	for range 20_000 {
		for j := range p {
			var up, down float64
			for i := range x {
				r := y[i] - num.Dot(b, x[i]) + b[j]*x[i][j]
				up += num.Weight(w, i) * x[i][j] * r
				down += num.Weight(w, i) * x[i][j] * x[i][j]
			}
			if down > 0 {
				b[j] = max(0, up/down)
			}
		}
	}
	return b
}

func loss(x [][]float64, y, b []float64) float64 {
	var sum float64
	for i := range x {
		r := y[i] - num.Dot(b, x[i])
		sum += r * r
	}
	return sum
}

func TestNNLSAgainstCoordinateDescent(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		n, p := 12, 4
		x, y, w := make([][]float64, n), make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = make([]float64, p)
			for j := range p {
				x[i][j] = rng.NormFloat64()
			}
			y[i], w[i] = rng.NormFloat64(), 0.5+rng.Float64()
		}
		got, err := NNLS(x, y, w)
		if err != nil {
			t.Fatal(err)
		}
		want := slowNNLS(x, y, w)
		for j := range got {
			if got[j] < 0 || !(math.Abs(got[j]-want[j]) <= 1e-6) {
				t.Errorf("round %d: coefficient %d is %v, coordinate descent says %v", round, j, got[j], want[j])
			}
		}
	}
}

func TestNNLSIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, p := rapid.IntRange(1, 12).Draw(t, "n"), rapid.IntRange(1, 5).Draw(t, "p")
		value := rapid.Float64Range(-10, 10)
		x, y := make([][]float64, n), make([]float64, n)
		for i := range x {
			x[i] = rapid.SliceOfN(value, p, p).Draw(t, "row")
			y[i] = value.Draw(t, "y")
		}
		b, err := NNLS(x, y, nil)
		if err != nil {
			t.Skip(err)
		}
		best := loss(x, y, b)
		for j := range b {
			if b[j] < 0 {
				t.Fatalf("coefficient %d is %v", j, b[j])
			}
			for _, step := range []float64{-1e-3, 1e-3} {
				moved := append([]float64(nil), b...)
				moved[j] = max(0, moved[j]+step)
				if l := loss(x, y, moved); l < best-1e-6*(1+best) {
					t.Fatalf("moving coefficient %d by %v lowers the loss from %v to %v", j, step, best, l)
				}
			}
		}
	})
}

func TestNNLSBadInput(t *testing.T) {
	for _, tt := range []struct {
		name string
		x    [][]float64
		y, w []float64
	}{
		{"no rows", nil, nil, nil},
		{"ragged", [][]float64{{1, 2}, {1}}, []float64{1, 2}, nil},
		{"lengths", [][]float64{{1}}, []float64{1, 2}, nil},
		{"NaN", [][]float64{{math.NaN()}}, []float64{1}, nil},
		{"infinite target", [][]float64{{1}}, []float64{math.Inf(1)}, nil},
		{"negative weight", [][]float64{{1}}, []float64{1}, []float64{-1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := NNLS(tt.x, tt.y, tt.w); err == nil {
				t.Error("no error")
			}
		})
	}
}
