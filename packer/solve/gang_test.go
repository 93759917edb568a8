package solve

import (
	"context"
	rand "math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

// TestGangsAgainstBruteForce: no method may beat the best plan, no bound may be
// below it, and Matching must mostly find it.
func TestGangsAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	rounds := race.Fewer(150)
	exact, worst, gap := 0, 0.0, 0.0
	auto := 0
	for range rounds {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 5, GPUs: 7, Kinds: 1 + rng.IntN(2), Residents: 1, MaxSet: 2, Gangs: true})
		best := packtest.SlowGangs(p)
		s := packtest.Solve(t, Matching{}, p)
		got := packtest.Units(p, s.Throughput)
		if got > best || packtest.Units(p, s.Bound) < best {
			t.Fatalf("%d of %d units, bound %d", got, best, packtest.Units(p, s.Bound))
		}
		if got == best {
			exact++
		} else {
			worst = max(worst, 1-float64(got)/float64(best))
		}
		gap += s.Gap() / float64(rounds)
		if packtest.Units(p, packtest.Solve(t, Auto{}, p).Throughput) == best {
			auto++
		}
		for _, m := range []packer.Method{Greedy{}, LocalSearch{Steps: 100}, Auto{}} {
			if o := packtest.Solve(t, m, p); packtest.Units(p, o.Throughput) > best || m == (Greedy{}) && o.Throughput > s.Throughput {
				t.Fatalf("%T has %v, matching %v, the best plan %v", m, o.Throughput, s.Throughput, float64(best)*p.Unit())
			}
		}
		p.Limits.MaxSet = 3
		best = packtest.SlowGangs(p)
		for _, m := range []packer.Method{LocalSearch{Steps: 100}, Auto{}} {
			if s := packtest.Solve(t, m, p); packtest.Units(p, s.Throughput) > best {
				t.Fatalf("%T has %v", m, s.Throughput)
			}
		}
		bound, err := (&packer.Certificate{U: make([]float64, len(p.Tasks))}).Verify(context.Background(), p)
		if err != nil || packtest.Units(p, bound) < best {
			t.Fatalf("zero prices prove %v, %v; the best plan has %d", bound, err, best)
		}
	}
	t.Logf("optimal in %d of %d, worst loss %.3f, mean gap %.4f", exact, rounds, worst, gap)
	if exact < rounds*90/100 || auto < rounds*99/100 {
		t.Errorf("optimal in %d and %d of %d only", exact, auto, rounds)
	}
}

func TestGangTakesEqualGPUs(t *testing.T) {
	p := small()
	p.GPUs = []packer.GPU{{ID: "a", Memory: 1 << 30}, {ID: "b", Memory: 2 << 30}, {ID: "c", Memory: 1 << 30}}
	p.Tasks = []packer.Task{{ID: "wide", GPUs: 2}, {ID: "too wide", GPUs: 3}}
	for _, m := range []packer.Method{Greedy{}, Matching{}, LocalSearch{}, Auto{}} {
		s := packtest.Solve(t, m, p)
		if len(s.Sets) != 1 || s.Sets[0].GPU != 0 || !slices.Equal(s.Sets[0].Gang, []int{2}) {
			t.Errorf("%T: sets %+v", m, s.Sets)
		}
		if r := s.Reasons[len(s.Reasons)-1]; r.ID != "too wide" || r.Code != packer.TooFewGPUs || r.GPUs != 1 {
			t.Errorf("%T: reason %+v", m, r)
		}
	}
}
