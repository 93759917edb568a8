package pdhg_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"example.com/colloc/colloc/sim/bound/internal/pdhg"
)

// draw draws a program that has a solution, and the same as gonum's simplex method takes it:
// min c·x with A·x = b, x >= 0, slacks of rows and of upper bounds last.
func draw(seed uint64) (p *pdhg.Program, c []float64, a *mat.Dense, b []float64) {
	r := rand.New(rand.NewPCG(seed, 3))
	n, m := 2+r.IntN(8), 1+r.IntN(6)
	p = &pdhg.Program{}
	a = mat.NewDense(m+n, n+m+n, nil)
	inside := make([]float64, n)
	for j := range n {
		upper := 1 + 9*r.Float64()
		inside[j] = upper * r.Float64()
		p.Variable(r.Float64()*3-0.5, 0, upper)
		c = append(c, p.Cost[j])
		a.Set(m+j, j, 1)
		a.Set(m+j, n+m+j, 1)
	}
	for i := range m {
		right := -r.Float64()
		row := p.Row(0)
		for j := range n {
			if v := float64(r.IntN(7)-3) / 2; v != 0 && r.IntN(3) > 0 {
				p.Set(row, j, v)
				a.Set(i, j, v)
				right += v * inside[j]
			}
		}
		p.Right[row] = right
		a.Set(i, n+i, -1)
		b = append(b, right)
	}
	return p, append(c, make([]float64, m+n)...), a, append(b, p.Upper...)
}

// TestAgainstSimplex holds solutions against those of gonum's simplex method.
func TestAgainstSimplex(t *testing.T) {
	compared := 0
	for seed := range uint64(120) {
		p, c, a, b := draw(seed)
		want, _, err := lp.Simplex(c, a, b, 1e-10, nil)
		if err != nil {
			continue // gonum gives up on some
		}
		compared++
		at, exact := p.Solve(t.Context(), pdhg.Point{}, 1e-7, 100000)
		got := 0.0
		for j, x := range at.X {
			got += x * p.Cost[j]
			if x < -1e-9 || x > p.Upper[j]+1e-9 {
				t.Errorf("program %d: variable %d is %v, want 0 to %v", seed, j, x, p.Upper[j])
			}
		}
		if !exact || math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
			t.Errorf("program %d: %v, exact %v; want %v", seed, got, exact, want)
		}
		if slices.Min(append([]float64{0}, at.Y...)) < 0 {
			t.Errorf("program %d: prices %v, want 0 or more", seed, at.Y)
		}
	}
	if compared < 80 {
		t.Errorf("%d programs compared, want 80", compared)
	}
}

// TestGoesOn: a solution that goes on from a point is as good, and quicker; one that is
// cancelled, or has no steps, is a point all the same.
func TestGoesOn(t *testing.T) {
	p, _, _, _ := draw(4)
	whole, exact := p.Solve(t.Context(), pdhg.Point{}, 1e-7, 100000)
	again, quick := p.Solve(t.Context(), whole, 1e-6, 40)
	if !exact || !quick || len(again.X) != len(whole.X) {
		t.Errorf("%v: %v from a solution; exact %v and %v", whole, again, exact, quick)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, most := range []int{0, 1000000} {
		if at, exact := p.Solve(ctx, pdhg.Point{}, 0, most); exact || len(at.X) != len(p.Cost) || len(at.Y) != len(p.Right) {
			t.Errorf("%d steps, cancelled: %v, exact %v", most, at, exact)
		}
	}
	empty := &pdhg.Program{}
	if at, _ := empty.Solve(t.Context(), pdhg.Point{}, 1e-6, 10); len(at.X)+len(at.Y) > 0 {
		t.Errorf("nothing: %v", at)
	}
}
