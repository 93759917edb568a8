package solve

import (
	"context"
	rand "math/rand/v2"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

func TestMatchingAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range race.Fewer(700) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 7, GPUs: 4, Kinds: 1, Residents: 3, MaxSet: 2})
		s := packtest.Solve(t, Matching{}, p)
		if got, want := packtest.Units(p, s.Throughput), packtest.SlowBest(p); got != want {
			t.Fatalf("%d tasks, %d GPUs: got %d, want %d (%s)", len(p.Tasks), len(p.GPUs), got, want, s.Method)
		}
		if s.Bound != s.Throughput {
			t.Fatalf("%d tasks, %d GPUs: bound %v, throughput %v: not proved exact", len(p.Tasks), len(p.GPUs), s.Bound, s.Throughput)
		}
	}
}

func TestKindsAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	exact, worst := 0, 0.0
	rounds := race.Fewer(500)
	for range rounds {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 6, GPUs: 4, Kinds: 3, Residents: 2, MaxSet: 2})
		s := packtest.Solve(t, Matching{}, p)
		best := packtest.SlowBest(p)
		if packtest.Units(p, s.Bound) < best {
			t.Fatalf("bound %v is below the best plan %v", s.Bound, float64(best)*p.Unit())
		}
		if got := packtest.Units(p, s.Throughput); got == best {
			exact++
		} else {
			worst = max(worst, 1-float64(got)/float64(best))
		}
		if g := packtest.Solve(t, Greedy{}, p); g.Throughput > s.Throughput {
			t.Fatalf("greedy %v beats matching %v", g.Throughput, s.Throughput)
		}
	}
	t.Logf("optimal in %d of %d, worst loss %.3f", exact, rounds, worst)
	if exact < rounds*95/100 {
		t.Errorf("optimal in %d of %d only", exact, rounds)
	}
}

func TestGreedyLargerSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range race.Fewer(300) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 6, GPUs: 3, Kinds: 2, Residents: 3, MaxSet: 1 + rng.IntN(4)})
		s := packtest.Solve(t, Greedy{}, p)
		if got, best := packtest.Units(p, s.Throughput), packtest.SlowBest(p); got > best {
			t.Fatalf("got %d, the best plan has %d", got, best)
		}
		bound, err := (&packer.Certificate{U: make([]float64, len(p.Tasks))}).Verify(context.Background(), p)
		if err != nil || bound < s.Throughput {
			t.Fatalf("zero prices prove %v, %v; the plan has %v", bound, err, s.Throughput)
		}
	}
}
