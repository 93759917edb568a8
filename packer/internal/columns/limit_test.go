package columns

import (
	"math"
	rand "math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/packer/internal/catalogue"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
)

// TestLimitsLeaveTheBound ends every loop early: pivots, rounds and the sets of
// a pool. The plan is feasible and no better than the best, the bound no lower.
func TestLimitsLeaveTheBound(t *testing.T) {
	early, looser, repairs := 0, 0, 0
	for n := range 120 {
		rng := rand.New(rand.NewPCG(111, uint64(n)))
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 6, GPUs: 3, Kinds: 2, Residents: 1, MaxSet: 3})
		best := instance.Quarters * packtest.SlowBest(p)
		bounds := []int64{}
		for _, cut := range []bool{false, true} {
			in := packtest.NewInstance(t, p)
			e, ty := instance.NewEvaluator(in), instance.NewTypes(in, false)
			cat, err := catalogue.New(t.Context(), e, ty)
			if err != nil {
				t.Fatal(err)
			}
			start, err := catalogue.Greedy(t.Context(), cat)
			if err != nil {
				t.Fatal(err)
			}
			g, err := New(t.Context(), e, cat, start, 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			if cut {
				g.lp.most, g.limits = 1, limits{pricings: 1, pool: 1}
			}
			g.Bounds(t.Context())
			g.Round()
			if !cut {
				checkTight(t, g)
			}
			made, err := g.ImprovePlan(t.Context(), 20)
			if err != nil {
				t.Fatal(err)
			}
			repairs += made
			g.newPool(t.Context(), 0)
			kept := g.value
			if g.tally(); g.value != kept {
				t.Fatalf("problem %d: after %d repairs the plan counts as %d, and is worth %d", n, made, kept, g.value)
			}
			pr := g.Proof()
			if pr == nil || pr.Bound < best || g.base+g.value > best {
				t.Fatalf("problem %d, cut short %v: %d, bound %+v, the best plan has %d", n, cut, g.base+g.value, pr, best)
			}
			sum := int64(0)
			for _, x := range slices.Concat(pr.Tasks, pr.GPUs) {
				sum += x
			}
			if sum != pr.Bound {
				t.Fatalf("problem %d: prices add up to %d, the bound is %d", n, sum, pr.Bound)
			}
			if cut && g.Rounds <= 1 {
				early++
			}
			bounds = append(bounds, g.bound)
		}
		if len(bounds) == 2 && bounds[1] > bounds[0] && bounds[1] < math.MaxInt64 {
			looser++
		}
	}
	if early < 60 || looser == 0 || repairs < 20 {
		t.Errorf("%d generations ended early, %d with a higher bound; %d repairs", early, looser, repairs)
	}
}

// checkTight: the bound is what the linear
// program says, but for rounding.
func checkTight(t *testing.T, g *Generation) {
	t.Helper()
	dual := 0.0
	for r, y := range g.lp.price {
		dual += y * g.lp.limit[r] * instance.Resolution * instance.Quarters
	}
	if rounding := 2 * instance.Quarters * float64(len(g.lp.limit)*len(g.In.Tasks)); float64(g.bound) > dual+rounding {
		t.Fatalf("the bound is %d, the linear program says %v", g.bound, dual)
	}
}

// TestRepairsKeepBooks: what a plan counts as after repairs is what it is worth, never less
// than before, and often more.
func TestRepairsKeepBooks(t *testing.T) {
	better := 0
	for n := range 40 {
		rng := rand.New(rand.NewPCG(115, uint64(n)))
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 16, GPUs: 7, Kinds: 2, Residents: 1, MaxSet: 3, Gangs: n%2 == 1})
		in := packtest.NewInstance(t, p)
		e, ty := instance.NewEvaluator(in), instance.NewTypes(in, false)
		cat, err := catalogue.New(t.Context(), e, ty)
		if err != nil {
			t.Fatal(err)
		}
		start, err := catalogue.Greedy(t.Context(), cat)
		if err != nil {
			t.Fatal(err)
		}
		g, err := New(t.Context(), e, cat, start, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		g.Bounds(t.Context())
		before := g.value
		g.repair(t.Context(), 60)
		kept := g.value
		if g.tally(); g.value != kept || kept < before || kept > g.bound {
			t.Fatalf("problem %d: worth %d before repairs; it counts as %d after them and is worth %d; the bound is %d", n, before, kept, g.value, g.bound)
		}
		if kept > before {
			better++
		}
	}
	if better < 5 {
		t.Errorf("repairs made %d plans better", better)
	}
}
