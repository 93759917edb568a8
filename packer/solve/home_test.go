package solve

import (
	"context"
	"fmt"
	rand "math/rand/v2"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

// TestHomesAgainstBruteForce moves tasks at a cost: no method may beat the best
// plan, no bound may be below it, and Matching must mostly find it.
func TestHomesAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	rounds := race.Fewer(150)
	exact, worst := 0, 0.0
	for range rounds {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 6, GPUs: 4, Kinds: 1 + rng.IntN(2), Residents: 2, MaxSet: 2, Homes: true})
		best := packtest.SlowBest(p)
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
		for _, m := range []packer.Method{Greedy{}, LocalSearch{Steps: 100}} {
			if o := packtest.Solve(t, m, p); packtest.Units(p, o.Throughput) > best || m == (Greedy{}) && o.Throughput > s.Throughput {
				t.Fatalf("%T has %v, matching %v, the best plan %v", m, o.Throughput, s.Throughput, float64(best)*p.Unit())
			}
		}
		p.Limits.MaxSet = 3
		if s := packtest.Solve(t, LocalSearch{Steps: 100}, p); packtest.Units(p, s.Throughput) > packtest.SlowBest(p) {
			t.Fatalf("local search has %v", s.Throughput)
		}
		bound, err := (&packer.Certificate{U: make([]float64, len(p.Tasks))}).Verify(context.Background(), p)
		if err != nil || packtest.Units(p, bound) < packtest.SlowBest(p) {
			t.Fatalf("zero prices prove %v, %v", bound, err)
		}
	}
	t.Logf("optimal in %d of %d, worst loss %.3f", exact, rounds, worst)
	if exact < rounds*95/100 {
		t.Errorf("optimal in %d of %d only", exact, rounds)
	}
}

func TestHomesStayUnlessMovingGains(t *testing.T) {
	for _, test := range []struct {
		name string
		cost float64
		want string
	}{
		{"dear", 0.5, "[[0 1] [2]]"},
		{"cheap", 0.1, "[[1] [0 2]]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := small()
			p.GPUs[0].Residents = nil
			p.Model = packtest.Duo{"ab": 0.7, "ac": 0.8, "bc": 0.75}
			for i := range p.Tasks {
				p.Tasks[i].Home, p.Tasks[i].MoveCost = "g", test.cost
			}
			p.Tasks[2].Home = "h"
			for _, m := range []packer.Method{Matching{}, LocalSearch{}, Auto{}} {
				s := packtest.Solve(t, m, p)
				got := [][]int{}
				for _, set := range s.Sets {
					got = append(got, set.Tasks)
				}
				if fmt.Sprint(got) != test.want {
					t.Errorf("%T: %v, want %v", m, got, test.want)
				}
			}
		})
	}
}
