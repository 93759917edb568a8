package search

import (
	rand "math/rand/v2"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
)

// TestGangsTakenApart: with gangs no step of a search, which takes apart as many GPUs as the
// widest task needs or three, makes its plan worse; that is one that Check takes, is worth
// what the search says, and mostly the best.
func TestGangsTakenApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 40))
	best, rounds := 0, max(20, race.Fewer(100))
	for n := range rounds {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 6, GPUs: 6, Kinds: 2, Residents: 1, MaxSet: 1 + rng.IntN(3), Gangs: true})
		d, err := packer.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(instance.NewEvaluator(d.Instance), instance.NewPlan(d.Instance), uint64(n))
		if err != nil {
			t.Fatal(err)
		}
		widest := 3
		for i := range d.Tasks {
			widest = max(widest, d.Tasks[i].GPUs)
		}
		if len(s.Groups) > 0 {
			if s.ruin(); len(s.Picked) > widest {
				t.Fatalf("problem %d: %d GPUs are taken apart, want %d at most", n, len(s.Picked), widest)
			}
		}
		for range 60 {
			before := s.total()
			if err := s.TakeApart(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if s.total() < before {
				t.Fatalf("problem %d: a step takes %d units", n, before-s.total())
			}
		}
		sol, err := d.Answer(t.Context(), s.Plan(), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(sol); err != nil {
			t.Fatalf("problem %d: %v", n, err)
		}
		got, most := packtest.Units(p, sol.Throughput), packtest.SlowGangs(p)
		total := s.total()
		for k := range d.Classes {
			if c := &d.Classes[k]; !d.Open(c) {
				total += c.Base // of the search it is no part
			}
		}
		if sol.Throughput != d.Value(total) || got > most {
			t.Fatalf("problem %d: the plan is worth %v, the search says %v, the best %d units", n, sol.Throughput, d.Value(total), most)
		}
		if got == most {
			best++
		}
	}
	if best < rounds*95/100 {
		t.Errorf("the best plan in %d of %d", best, rounds)
	}
}
