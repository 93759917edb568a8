package columns

import (
	"math"
	rand "math/rand/v2"
	"testing"
)

// TestSmoothedIsNearlyOptimal compares with the simplex method: the prices must
// nearly cover every column and cost nearly the optimum.
func TestSmoothedIsNearlyOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	for range 60 {
		limit := make([]float64, 5+rng.IntN(40))
		for r := range limit {
			limit[r] = float64(1 + rng.IntN(3))
		}
		exact, near := newPacking(limit), newSmoothed(limit)
		for range 400 {
			c := column{value: 1 + 2*rng.Float64()}
			for r := range limit {
				if rng.IntN(len(limit)) < 3 {
					c.rows, c.times = append(c.rows, int32(r)), append(c.times, float64(1+rng.IntN(2)))
				}
			}
			if len(c.rows) > 0 {
				exact.add(c)
				near.add(c)
			}
		}
		exact.solve(t.Context())
		near.solve(t.Context())
		want, got := 0.0, 0.0
		for r, y := range near.prices() {
			if y < 0 {
				t.Fatalf("price %v", y)
			}
			want += exact.prices()[r] * limit[r]
			got += y * limit[r]
		}
		for j := range near.cols {
			if d := near.slack[j]; d > 0.01 {
				t.Errorf("column %d is worth %v more than its rows", j, d)
			}
		}
		if math.Abs(got-want) > 0.02*want {
			t.Errorf("prices cost %v, the optimum is %v", got, want)
		}
	}
}

func TestPowersAndLogarithms(t *testing.T) {
	for x := float64(faint); x < 60; x += 0.0173 {
		if got, want := power2(x), math.Exp2(x); math.Abs(got-want) > 1e-8*want {
			t.Fatalf("2^%v is %v, want %v", x, got, want)
		}
		if got := log2(math.Exp2(x)); math.Abs(got-x) > 1e-8 {
			t.Fatalf("the logarithm of 2^%v is %v", x, got)
		}
	}
}
