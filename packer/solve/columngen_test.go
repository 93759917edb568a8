package solve

import (
	"context"
	rand "math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/packer/internal/packtest"

	"example.com/colloc/internal/race"
)

func TestColumnGenAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	exact, proved := 0, 0
	rounds := race.Fewer(150)
	for range rounds {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 7, GPUs: 3, Kinds: 2, Residents: 3, MaxSet: 1 + rng.IntN(5), Homes: rng.IntN(3) == 0})
		s := packtest.Solve(t, ColumnGen{}, p)
		got, best := packtest.Units(p, s.Throughput), packtest.SlowBest(p)
		if got > best {
			t.Fatalf("got %d, the best plan has %d", got, best)
		}
		if packtest.Units(p, s.Bound) < best {
			t.Fatalf("bound %v, the best plan has %v", s.Bound, float64(best)*p.Unit())
		}
		if s.Certificate == nil {
			t.Fatal("no certificate")
		}
		if got == best {
			exact++
		}
		if s.Gap() < 1e-5 {
			proved++
		}
		if g := packtest.Solve(t, Greedy{}, p); g.Throughput > s.Throughput {
			t.Fatalf("greedy %v beats column generation %v", g.Throughput, s.Throughput)
		}
	}
	t.Logf("optimal in %d of %d, proved in %d", exact, rounds, proved)
	if exact < rounds*99/100 || proved < rounds*8/10 {
		t.Errorf("optimal in %d of %d, proved in %d", exact, rounds, proved)
	}
}

// TestColumnGenBound compares with Matching, whose bound is the optimum.
func TestColumnGenBound(t *testing.T) {
	for seed := range 5 {
		p := packtest.BenchProblem(packtest.BenchModel(t, "random", 60), 20+5*seed)
		s, exact := packtest.Solve(t, ColumnGen{}, p), packtest.Solve(t, Matching{}, p)
		if s.Bound < exact.Throughput || s.Gap() > 0.002 {
			t.Errorf("%d GPUs: bound %v and gap %v, best %v", len(p.GPUs), s.Bound, s.Gap(), exact.Throughput)
		}
	}
}

func TestColumnGenTooLarge(t *testing.T) {
	p := packtest.BenchProblem(packtest.BenchModel(t, "random", 30), 10)
	p.Limits.MaxSet = 3
	s := packtest.Solve(t, ColumnGen{MaxSets: 1000}, p)
	if s.Certificate != nil || s.Gap() != 1 {
		t.Errorf("gap %v without all sets", s.Gap())
	}
	for _, m := range []ColumnGen{{Tol: -1}, {Tol: 1}, {Steps: -1}, {MaxSets: -1}} {
		if _, err := m.Pack(context.Background(), p); err == nil {
			t.Errorf("%+v is accepted", m)
		}
	}
}

func TestColumnGenStopsAtTolerance(t *testing.T) {
	p := packtest.BenchProblem(packtest.BenchModel(t, "random", 30), 10)
	p.Limits.MaxSet = 3
	for _, tol := range []float64{0.1, 0.01} {
		if s := packtest.Solve(t, ColumnGen{Tol: tol}, p); s.Gap() > tol {
			t.Errorf("tolerance %v: gap %v", tol, s.Gap())
		}
	}
}

func TestColumnGenRepeats(t *testing.T) {
	p := packtest.BenchProblem(packtest.BenchModel(t, "random", 20), 6)
	p.Limits.MaxSet = 4
	a, b := packtest.Solve(t, ColumnGen{Seed: 3}, p), packtest.Solve(t, ColumnGen{Seed: 3}, p)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("the same seed gives two answers:\n%s", diff)
	}
}
