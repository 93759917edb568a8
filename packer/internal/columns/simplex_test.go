package columns

import (
	"math"
	rand "math/rand/v2"
	"testing"
)

// checkOptimal proves the solution by duality: both sides feasible, and worth
// the same.
func checkOptimal(t *testing.T, p *packing) {
	t.Helper()
	const tol = 1e-7
	used := make([]float64, len(p.limit))
	primal, dual := 0.0, 0.0
	for j := range p.cols {
		c := &p.cols[j]
		if d := p.reduced(c); d > tol {
			t.Fatalf("column %d is worth %v more than its rows", j, d)
		}
		if p.at[j] == none {
			continue
		}
		x := p.x[p.at[j]]
		primal += c.value * x
		for n, r := range c.rows {
			if c.times == nil {
				used[r] += x
			} else {
				used[r] += c.times[n] * x
			}
		}
	}
	for r, y := range p.price {
		if y < -tol || used[r] > p.limit[r]+tol {
			t.Fatalf("row %d: price %v, uses %v of %v", r, y, used[r], p.limit[r])
		}
		dual += y * p.limit[r]
	}
	if math.Abs(primal-dual) > tol*max(1, dual) {
		t.Fatalf("the columns are worth %v, the rows %v", primal, dual)
	}
}

func TestSimplex(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for range 300 {
		limit := make([]float64, 1+rng.IntN(12))
		for r := range limit {
			limit[r] = float64(rng.IntN(4))
		}
		p := newPacking(limit)
		for range 3 {
			for range rng.IntN(30) {
				c := column{value: float64(rng.IntN(8))}
				for r := range limit {
					if rng.IntN(3) == 0 {
						c.rows = append(c.rows, int32(r))
						c.times = append(c.times, float64(1+rng.IntN(3)))
					}
				}
				if len(c.rows) == 0 {
					continue // worth something for nothing
				}
				if rng.IntN(2) == 0 {
					c.times = nil
				}
				p.add(c)
			}
			p.solve(t.Context())
			checkOptimal(t, p)
			for r := range p.price { // as if errors had added up
				p.price[r], p.x[r] = -1, -1
			}
			p.refresh()
			checkOptimal(t, p)
		}
	}
}
