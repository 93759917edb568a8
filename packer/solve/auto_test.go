package solve

import (
	rand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

func TestAutoChooses(t *testing.T) {
	for _, test := range []struct {
		name string
		auto Auto
		p    *packer.Problem
		want string
	}{
		{"pairs", Auto{}, packtest.BenchProblem(packtest.BenchModel(t, "random", 20), 10), "auto: matching, exact (sets of at most 2)"},
		{"sets of three", Auto{}, packtest.TypedProblem(t, "random", 50, 10, 3), "auto: column generation: "},
		{"small budget", Auto{Budget: 100}, packtest.TypedProblem(t, "random", 50, 10, 3), "(sets of up to 3; more than 100 sets)"},
		{"many pairs of few types", Auto{}, packtest.TypedProblem(t, "random", 1500, 500, 2), "56 types of task)"},
		{"too many", Auto{Budget: 100}, packtest.TypedProblem(t, "random", 9000, 2, 2), "(9000 tasks of 56 types are too many for a search)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if s := packtest.Solve(t, test.auto, test.p); !strings.Contains(s.Method, test.want) {
				t.Errorf("%q does not say %q", s.Method, test.want)
			}
		})
	}
	if _, err := (Auto{Budget: -1}).Pack(t.Context(), small()); err == nil {
		t.Error("a negative budget is accepted")
	}
	if _, err := (Auto{}).Pack(t.Context(), nil); err == nil {
		t.Error("a nil problem is accepted")
	}
}

// TestAutoNeverWorse compares with what needs no search: Greedy, and no sharing
// at all where it costs nothing to move.
func TestAutoNeverWorse(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for range 40 {
		homes := rng.IntN(3) == 0
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 12, GPUs: 5, Kinds: 3, Residents: 3, MaxSet: 1 + rng.IntN(4), Homes: homes})
		for _, auto := range []Auto{{}, {Tol: 0.1}, {Budget: 1}} {
			got := packtest.Solve(t, auto, p)
			if greedy := packtest.Solve(t, Greedy{}, p); got.Throughput < greedy.Throughput {
				t.Fatalf("%+v: %v, greedy %v", auto, got.Throughput, greedy.Throughput)
			}
			q := *p
			q.Limits.MaxSet = 1
			if alone := packtest.Solve(t, Matching{}, &q); !homes && got.Throughput < alone.Throughput {
				t.Fatalf("%+v: %v, exclusive %v (%s)", auto, got.Throughput, alone.Throughput, got.Method)
			}
		}
	}
}

// TestAutoTakesTheBetterOfTwo: for gangs in sets of two the plan is the better one of
// ColumnGen and Matching, with the lower bound.
func TestAutoTakesTheBetterOfTwo(t *testing.T) {
	rng := rand.New(rand.NewPCG(181, 182))
	bounds := 0
	for n := range race.Fewer(60) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 24, GPUs: 14, Kinds: 2, Residents: 1, MaxSet: 2, Gangs: true})
		if !slices.ContainsFunc(p.Tasks, func(t packer.Task) bool { return t.GPUs > 1 }) {
			continue
		}
		c, m, s := packtest.Solve(t, ColumnGen{MaxSets: defaultBudget}, p), packtest.Solve(t, Matching{}, p), packtest.Solve(t, Auto{}, p)
		if s.Throughput != max(c.Throughput, m.Throughput) || s.Bound != min(c.Bound, m.Bound) {
			t.Fatalf("problem %d: %v of %v, by columns %v of %v, by matching %v of %v", n, s.Throughput, s.Bound, c.Throughput, c.Bound, m.Throughput, m.Bound)
		}
		if m.Bound < c.Bound {
			bounds++
		}
	}
	if bounds == 0 && !race.Enabled {
		t.Error("no bound is Matching's")
	}
}

// TestOrMatching: of any plan and Matching's the better one stays, with the lower bound. Columns
// make worse plans than a matching for hundreds of tasks only, Greedy for few, too.
func TestOrMatching(t *testing.T) {
	rng := rand.New(rand.NewPCG(183, 184))
	better := 0
	for n := range 40 {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 12, GPUs: 8, Kinds: 1, MaxSet: 2, Gangs: true})
		first := []packer.Method{Greedy{}, ColumnGen{Steps: 1}}[n%2]
		m, c := packtest.Solve(t, Matching{}, p), packtest.Solve(t, first, p)
		throughput, bound := c.Throughput, c.Bound
		s, err := Auto{}.orMatching(t.Context(), p, c)
		if err == nil {
			err = p.Check(s)
		}
		if err != nil || s.Throughput != max(throughput, m.Throughput) || s.Bound != min(bound, m.Bound) {
			t.Fatalf("problem %d: %v; %v of %v, first %v of %v, by matching %v of %v", n, err, s.Throughput, s.Bound, throughput, bound, m.Throughput, m.Bound)
		}
		if throughput < m.Throughput {
			better++
		}
	}
	if better == 0 {
		t.Error("no plan is Matching's")
	}
}
