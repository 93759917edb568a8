package solve

import (
	rand "math/rand/v2"
	"strings"
	"testing"

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
