package solve

import (
	"context"
	rand "math/rand/v2"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

// TestMonotoneProvesTheSame verifies certificates, good and bad, with and
// without the promise: the bound must be the same, whatever the hints.
func TestMonotoneProvesTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	ctx := context.Background()
	for range 100 {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 9, GPUs: 4, Kinds: 2, Residents: 3, MaxSet: 1 + rng.IntN(5), Homes: rng.IntN(3) == 0})
		cert := &packer.Certificate{U: make([]float64, len(p.Tasks))}
		for i := range cert.U {
			cert.U[i] = float64(rng.IntN(3)) * rng.Float64()
		}
		if rng.IntN(2) == 0 {
			cert = packtest.Solve(t, ColumnGen{}, p).Certificate
		}
		q := *p
		q.Model = packtest.Falling{Model: p.Model}
		want, err := cert.Verify(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		hints := cert.Lambda
		for _, lambda := range [][]float64{nil, hints} {
			cert.Lambda = lambda
			if got, err := cert.Verify(ctx, &q); err != nil || got != want {
				t.Fatalf("got %v, %v, want %v", got, err, want)
			}
		}
	}
}

func TestMonotoneAsksLess(t *testing.T) {
	p := packtest.BenchProblem(packtest.BenchModel(t, "random", 24), 7)
	p.Limits.MaxSet = 4
	cert := packtest.Solve(t, ColumnGen{}, p).Certificate
	asked := func(wrap func(packer.Model) packer.Model) int {
		c := &packtest.Counting{Model: p.Model}
		q := *p
		q.Model = wrap(c)
		if _, err := cert.Verify(context.Background(), &q); err != nil {
			t.Fatal(err)
		}
		return c.Asked
	}
	all := asked(func(m packer.Model) packer.Model { return m })
	few := asked(func(m packer.Model) packer.Model { return packtest.Falling{Model: m} })
	t.Logf("%d questions, %d of a monotone model", all, few)
	if few > all/2 {
		t.Errorf("%d questions of %d", few, all)
	}
}
