package pairs

import (
	rand "math/rand/v2"
	"testing"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
)

// TestFewRoundsLeaveTheBound ends the search for prices after its first rounds: the
// bound is no lower than the best plan, which the plan does not beat.
func TestFewRoundsLeaveTheBound(t *testing.T) {
	looser := 0
	for n := range 150 {
		rng := rand.New(rand.NewPCG(113, uint64(n)))
		p := packtest.Paced(rng, packtest.Draw(rng, packtest.DrawOptions{Tasks: 6, GPUs: 4, Kinds: 3, Residents: 1, MaxSet: 2}))
		in := packtest.NewInstance(t, p)
		if in.Free < 2 {
			continue
		}
		best := instance.Quarters * packtest.SlowBest(p)
		var last int64
		for _, rounds := range []int{maxRounds, 2, 1} {
			tab, err := newTable(t.Context(), instance.NewEvaluator(in))
			if err != nil {
				t.Fatal(err)
			}
			m := newMatcher(t.Context(), tab)
			m.rounds = rounds
			_, pr, _, err := m.several(t.Context(), 0)
			if err != nil || pr == nil || pr.Bound < best {
				t.Fatalf("problem %d, %d rounds: %+v, %v; the best plan has %d", n, rounds, pr, err, best)
			}
			if last > 0 && pr.Bound > last {
				looser++
			}
			last = pr.Bound
		}
	}
	if looser < 10 {
		t.Errorf("fewer rounds prove less in %d problems only", looser)
	}
}
