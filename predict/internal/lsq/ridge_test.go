package lsq

import (
	"math"
	"math/rand/v2"
	"slices"
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
			if !(math.Abs(got[j]-want.Coef[j]) <= 1e-9) {
				t.Fatalf("column %d is %v, want %v", j, got[j], want.Coef[j])
			}
		}
	}
	if !heldOnce {
		t.Error("no column was ever held")
	}
}

// TestNoRowsGiveThePrior: without rows the solution is the prior mean, whatever its
// precision, and a target that is added alone counts by its weight as a row does.
func TestNoRowsGiveThePrior(t *testing.T) {
	lambda, mu := []float64{4, 0.5}, []float64{0.25, -2}
	post, err := Solve(lambda, mu, Span{}, &Sums{})
	if err != nil {
		t.Fatal(err)
	}
	for j, want := range mu {
		if !(math.Abs(post.Coef[j]-want) <= 1e-12) {
			t.Errorf("coefficient %d is %v, want the prior's %v", j, post.Coef[j], want)
		}
	}
	var x Row
	x.Add(0, 2)
	x.Add(1, -1)
	var row, target Sums
	row.Grow(2)
	target.Grow(2)
	row.AddRow(&x, 3, 0.25)
	target.AddTarget(&x, 3, 0.25)
	if !slices.Equal(row.G, target.G) || row.G[0] != 1.5 {
		t.Errorf("a row adds %v, its target alone %v, want 1.5 and -0.75", row.G, target.G)
	}
}

// TestHeldColumnsAreTheBest: with columns held at 0 or above, the solution costs no more
// than any that leaves some of them at 0 and solves for the rest.
func TestHeldColumnsAreTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	held := 0
	for range 300 {
		const p = 4
		lambda, mu := make([]float64, p), make([]float64, p)
		for j := range p {
			lambda[j], mu[j] = 0.1+rng.Float64(), rng.NormFloat64()
		}
		var sums Sums
		sums.Grow(p)
		for range 6 {
			var x Row
			for j := range p {
				x.Add(j, rng.NormFloat64())
			}
			sums.AddRow(&x, rng.NormFloat64(), 1)
		}
		post, err := Solve(lambda, mu, Span{First: 1, Count: 3}, &sums)
		if err != nil {
			t.Fatal(err)
		}
		cost := func(b []float64) float64 {
			var c float64
			for i := range p {
				c += lambda[i]*(b[i]-mu[i])*(b[i]-mu[i]) - 2*sums.G[i]*b[i]
				for j := range p {
					c += sums.H.at(i, j) * b[i] * b[j]
				}
			}
			return c
		}
		best := math.Inf(1)
		for zero := range 8 { // bits of the held columns that stay at 0: a steep prior keeps them there
			steep, at := slices.Clone(lambda), slices.Clone(mu)
			for k := range 3 {
				if zero>>k&1 == 1 {
					steep[1+k], at[1+k] = 1e9, 0
				}
			}
			free, err := Solve(steep, at, Span{}, &sums)
			if err != nil {
				t.Fatal(err)
			}
			b := slices.Clone(free.Coef)
			for k := range 3 {
				if zero>>k&1 == 1 {
					b[1+k] = 0
				}
			}
			if min(b[1], b[2], b[3]) >= 0 {
				best = min(best, cost(b))
			}
		}
		if min(post.Coef[1], post.Coef[2], post.Coef[3]) < 0 || cost(post.Coef) > best+1e-6 {
			t.Fatalf("%v costs %v, want none below 0 and %v", post.Coef, cost(post.Coef), best)
		}
		for _, b := range post.Coef[1:] {
			if b == 0 {
				held++
			}
		}
	}
	if held < 100 {
		t.Errorf("%d columns were held, want enough to tell", held)
	}
}
