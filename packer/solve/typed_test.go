package solve

import (
	rand "math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

func TestTypedAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	exact := 0
	rounds := race.Fewer(100)
	for range rounds {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 3, GPUs: 3, Kinds: 2, Residents: 2, MaxSet: 1 + rng.IntN(4)})
		p = packtest.Repeated(rng, p, 3)
		if len(p.Tasks) > 7 {
			p.Tasks = p.Tasks[:7]
		}
		s := packtest.Solve(t, ColumnGen{}, p)
		got, best := packtest.Units(p, s.Throughput), packtest.SlowBest(p)
		if got > best || packtest.Units(p, s.Bound) < best {
			t.Fatalf("got %d, bound %v, the best plan has %d", got, s.Bound, best)
		}
		if got == best {
			exact++
		}
	}
	if exact < rounds*99/100 {
		t.Errorf("optimal in %d of %d", exact, rounds)
	}
}

// TestTypedProvesTheSame hides the types from Verify: the bound must not change.
func TestTypedProvesTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 66))
	for range 80 {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 4, GPUs: 4, Kinds: 2, Residents: 2, MaxSet: 1 + rng.IntN(4)})
		p = packtest.Repeated(rng, p, 3)
		cert := &packer.Certificate{U: make([]float64, len(p.Tasks))}
		for i := range cert.U {
			cert.U[i] = float64(rng.IntN(3)) * rng.Float64()
		}
		q := *p
		q.Tasks = slices.Clone(p.Tasks)
		for i := range q.Tasks {
			q.Tasks[i].Kind = ""
		}
		want, err := cert.Verify(t.Context(), &q)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cert.Verify(t.Context(), p); err != nil || got != want {
			t.Fatalf("%d tasks: got %v, %v, want %v", len(p.Tasks), got, err, want)
		}
	}
}

func TestTypedLarge(t *testing.T) {
	p := packtest.TypedProblem(t, "random", 2000, 500, 3)
	if s := packtest.Solve(t, ColumnGen{}, p); s.Gap() > 0.002 {
		t.Errorf("gap %v", s.Gap())
	}
}
