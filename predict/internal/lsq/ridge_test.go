package lsq

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCoefIsSolves: the short way gives the coefficients of the long one, columns held
// at 0 among them.
func TestCoefIsSolves(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	heldOnce := false
	for range 50 {
		const p = 12
		lambda, mu, sums := make([]float64, p), make([]float64, p), &Sums{}
		sums.Grow(p)
		for j := range lambda {
			lambda[j], mu[j] = 0.5+rng.Float64(), rng.NormFloat64()
		}
		for range 40 {
			var x Row
			for range 5 {
				x.Add(rng.IntN(p), rng.NormFloat64())
			}
			sums.AddRow(&x, rng.NormFloat64(), rng.Float64())
		}
		span := Span{First: 2, Count: 4}
		want, err := Solve(lambda, mu, span, sums)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Coef(lambda, mu, span, sums)
		if err != nil {
			t.Fatal(err)
		}
		for j := range got {
			heldOnce = heldOnce || want.Coef[j] == 0
			if math.Abs(got[j]-want.Coef[j]) > 1e-9 {
				t.Fatalf("column %d is %v, want %v", j, got[j], want.Coef[j])
			}
		}
	}
	if !heldOnce {
		t.Error("no column was ever held")
	}
}
