package packer

import (
	"context"
	"math/rand/v2"
	"testing"
)

// newInstance compiles a problem that has no faults.
func newInstance(tb testing.TB, p *Problem) *instance {
	tb.Helper()
	d, err := compile(p)
	if err != nil {
		tb.Fatal(err)
	}
	return d.instance
}

// units converts a value back to whole units.
func units(p *Problem, value float64) int64 { return int64(value / unitOf(p)) }

// solve runs a method and checks what must hold for every answer.
func solve(t *testing.T, m Method, p *Problem) *Solution {
	t.Helper()
	s, err := m.Pack(context.Background(), p)
	if err != nil {
		t.Fatalf("%T: %v", m, err)
	}
	if err := p.Check(s); err != nil {
		t.Fatalf("%T: %v", m, err)
	}
	if s.Certificate != nil {
		bound, err := s.Certificate.Verify(context.Background(), p)
		if err != nil {
			t.Fatalf("%T: %v", m, err)
		}
		if bound > s.Bound {
			t.Fatalf("%T: the certificate proves %v, not %v", m, bound, s.Bound)
		}
		if bound < s.Throughput {
			t.Fatalf("%T: the certificate proves %v, below the plan's %v", m, bound, s.Throughput)
		}
	}
	return s
}

func TestMatchingAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 700 {
		p := draw(rng, drawOptions{tasks: 7, gpus: 4, kinds: 1, residents: 3, maxSet: 2})
		s := solve(t, Matching{}, p)
		if got, want := units(p, s.Throughput), slowBest(p); got != want {
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
	const rounds = 500
	for range rounds {
		p := draw(rng, drawOptions{tasks: 6, gpus: 4, kinds: 3, residents: 2, maxSet: 2})
		s := solve(t, Matching{}, p)
		best := slowBest(p)
		if units(p, s.Bound) < best {
			t.Fatalf("bound %v is below the best plan %v", s.Bound, float64(best)*unitOf(p))
		}
		if got := units(p, s.Throughput); got == best {
			exact++
		} else {
			worst = max(worst, 1-float64(got)/float64(best))
		}
		if g := solve(t, Greedy{}, p); g.Throughput > s.Throughput {
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
	for range 300 {
		p := draw(rng, drawOptions{tasks: 6, gpus: 3, kinds: 2, residents: 3, maxSet: 1 + rng.IntN(4)})
		s := solve(t, Greedy{}, p)
		if got, best := units(p, s.Throughput), slowBest(p); got > best {
			t.Fatalf("got %d, the best plan has %d", got, best)
		}
		bound, err := (&Certificate{U: make([]float64, len(p.Tasks))}).Verify(context.Background(), p)
		if err != nil || bound < s.Throughput {
			t.Fatalf("zero prices prove %v, %v; the plan has %v", bound, err, s.Throughput)
		}
	}
}
