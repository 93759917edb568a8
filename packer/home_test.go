package packer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/colloc/profile"
)

// TestHomesAgainstBruteForce moves tasks at a cost: no method may beat the best
// plan, no bound may be below it, and Matching must mostly find it.
func TestHomesAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	const rounds = 150
	exact, worst := 0, 0.0
	for range rounds {
		p := draw(rng, drawOptions{tasks: 6, gpus: 4, kinds: 1 + rng.IntN(2), residents: 2, maxSet: 2, homes: true})
		best := slowBest(p)
		s := solve(t, Matching{}, p)
		got := units(p, s.Throughput)
		if got > best || units(p, s.Bound) < best {
			t.Fatalf("%d of %d units, bound %d", got, best, units(p, s.Bound))
		}
		if got == best {
			exact++
		} else {
			worst = max(worst, 1-float64(got)/float64(best))
		}
		for _, m := range []Method{Greedy{}, LocalSearch{Steps: 100}} {
			if o := solve(t, m, p); units(p, o.Throughput) > best || m == (Greedy{}) && o.Throughput > s.Throughput {
				t.Fatalf("%T has %v, matching %v, the best plan %v", m, o.Throughput, s.Throughput, float64(best)*unitOf(p))
			}
		}
		p.Limits.MaxSet = 3
		if s := solve(t, LocalSearch{Steps: 100}, p); units(p, s.Throughput) > slowBest(p) {
			t.Fatalf("local search has %v", s.Throughput)
		}
		bound, err := (&Certificate{U: make([]float64, len(p.Tasks))}).Verify(context.Background(), p)
		if err != nil || units(p, bound) < slowBest(p) {
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
			p.Model = duo{"ab": 0.7, "ac": 0.8, "bc": 0.75}
			for i := range p.Tasks {
				p.Tasks[i].Home, p.Tasks[i].MoveCost = "g", test.cost
			}
			p.Tasks[2].Home = "h"
			for _, m := range []Method{Matching{}, LocalSearch{}, Auto{}} {
				s := solve(t, m, p)
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

// duo slows both tasks of a pair to the speed given for their IDs.
type duo map[string]float64

func (d duo) Speeds(set []*Task, _ *GPU, _ profile.Mechanism, dst []float64) error {
	dst[0] = 1
	if len(set) == 2 {
		dst[0] = max(d[set[0].ID+set[1].ID], d[set[1].ID+set[0].ID])
		dst[1] = dst[0]
	}
	return nil
}
