package solve

import (
	"context"
	"errors"
	"fmt"
	"math"
	rand "math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

// ofKinds is n tasks of so many kinds, or each like no other, on one free GPU, or beside one
// resident.
func ofKinds(n, kinds, maxSet int, free bool) *packer.Problem {
	p := &packer.Problem{Model: packtest.Even{1, 0.8}, Limits: packer.Limits{MaxSet: maxSet}, GPUs: []packer.GPU{{ID: "g", Memory: 1}}}
	if !free {
		p.GPUs[0].Residents = []packer.Task{{ID: "r"}}
	}
	for i := range n {
		t := packer.Task{ID: strconv.Itoa(i)}
		if kinds > 0 {
			t.Kind = fmt.Sprint("k", i%kinds)
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

// TestAutoChoosesByNumbers: which method Auto takes, and for how many steps, depends on
// numbers alone; here they are at the edges.
func TestAutoChoosesByNumbers(t *testing.T) {
	for _, test := range []struct {
		name string
		auto Auto
		p    *packer.Problem
		want packer.Method
		why  string
	}{
		{"as many pairs as the budget has", Auto{}, ofKinds(8192, 0, 2, true), Matching{}, "sets of at most 2"},
		{"a pair too many", Auto{Budget: 1<<22 - 1}, ofKinds(8192, 0, 2, true), LocalSearch{Steps: 131071}, "more than 4096 types"},
		{"as many tasks as a search takes", Auto{Budget: 1 << 24}, ofKinds(8192, 0, 3, true), LocalSearch{Steps: 491520}, "more than 4096 types"},
		{"a task too many", Auto{}, ofKinds(8193, 0, 3, true), Greedy{}, "8193 tasks of 8193 types are too many for a search"},
		{"no free GPU", Auto{}, ofKinds(8000, 0, 2, false), Matching{}, "sets of at most 2"},
		{"many tasks of few types", Auto{}, ofKinds(1025, 64, 2, true), ColumnGen{MaxSets: 1 << 22}, "64 types of task"},
		{"many tasks of a type too many", Auto{}, ofKinds(1025, 65, 2, true), Matching{}, "sets of at most 2"},
		{"not quite many tasks", Auto{}, ofKinds(1024, 4, 2, true), Matching{}, "sets of at most 2"},
		{"too many sets", Auto{Seed: 5}, ofKinds(300, 0, 3, true), LocalSearch{Steps: 18000, Seed: 5}, "more than 4194304 sets"},
		{"few tasks", Auto{Budget: 20000}, ofKinds(30, 0, 5, true), LocalSearch{Steps: 625}, "more than 20000 sets"},
		{"a tolerance", Auto{Tol: 0.1, Seed: 7}, ofKinds(20, 0, 3, true), ColumnGen{Tol: 0.1, Seed: 7, MaxSets: 1 << 22}, "sets of up to 3"},
	} {
		m, why, err := test.auto.choose(test.p)
		if err != nil || m != test.want || !strings.Contains(why, test.why) {
			t.Errorf("%s: %#v because of %q, %v; want %#v because of %q", test.name, m, why, err, test.want, test.why)
		}
	}
}

// TestDefaultSteps: how long a search goes on, and that a plan says so.
func TestDefaultSteps(t *testing.T) {
	for _, test := range []struct {
		c     ColumnGen
		types int
		want  int
	}{{ColumnGen{}, 3, 1000}, {ColumnGen{}, 100, 2500}, {ColumnGen{Steps: 7}, 100, 7}} {
		if got := test.c.steps(test.types); got != test.want {
			t.Errorf("%+v, %d types: %d steps, want %d", test.c, test.types, got, test.want)
		}
	}
	for n, want := range map[int]string{3: "local search, 1000 steps", 150: "local search, 1500 steps"} {
		if s := packtest.Solve(t, LocalSearch{}, ofKinds(n, 0, 2, true)); s.Method != want {
			t.Errorf("%d tasks: %q, want %q", n, s.Method, want)
		}
	}
}

// TestUnprovedSaysWhy: where there can be no bound the plan says why, and a model that fails
// is an error there, too.
func TestUnprovedSaysWhy(t *testing.T) {
	p := ofKinds(30, 0, 3, true)
	if s := packtest.Solve(t, ColumnGen{MaxSets: 1000}, p); !strings.Contains(s.Method, "no bound: more than 1000 sets") {
		t.Errorf("%q", s.Method)
	}
	p.Model = brokenModel{HashModel: packtest.HashModel{Steps: 4, Low: 1}, A: "0", B: "1", Fail: true}
	if s, err := (ColumnGen{MaxSets: 1000}).Pack(t.Context(), p); s != nil || !errors.Is(err, errBroken) {
		t.Errorf("%v, %v", s, err)
	}
}

// TestLocalSearchStartsFromTheBest: a search of one step is no worse than the best plan
// without sharing.
func TestLocalSearchStartsFromTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(167, 168))
	for n := range race.Fewer(40) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 10, GPUs: 8, Kinds: 3, MaxSet: 2})
		if n%2 == 0 {
			p = packtest.Paced(rng, p)
		}
		s := packtest.Solve(t, LocalSearch{Steps: 1}, p)
		p.Limits.MaxSet = 1
		if alone := packtest.Solve(t, Matching{}, p); s.Throughput < alone.Throughput {
			t.Fatalf("problem %d: %v, without sharing %v", n, s.Throughput, alone.Throughput)
		}
	}
}

// TestClassesKeepHomes: one class gets what the Method gives it, with homes, too.
func TestClassesKeepHomes(t *testing.T) {
	rng := rand.New(rand.NewPCG(169, 170))
	for n := range race.Fewer(40) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 8, GPUs: 5, Kinds: 2, Residents: 1, MaxSet: 2, Homes: true})
		one, m := packtest.Solve(t, Classes{Class: func(*packer.Task) int { return 7 }}, p), packtest.Solve(t, Auto{}, p)
		if math.Abs(one.Throughput-m.Throughput) > 1e-9 {
			t.Fatalf("problem %d: one class gets %v, without classes %v", n, one.Throughput, m.Throughput)
		}
	}
}

// late is a method that has a plan and fails.
type late struct{}

var errLate = errors.New("too late")

func (late) Pack(ctx context.Context, p *packer.Problem) (*packer.Solution, error) {
	s, err := Greedy{}.Pack(ctx, p)
	return s, errors.Join(err, errLate)
}

// TestClassesTellOfErrors: what a method says beside its plan is not lost.
func TestClassesTellOfErrors(t *testing.T) {
	class := func(*packer.Task) int { return 0 }
	if s, err := (Classes{Method: late{}, Class: class}).Pack(t.Context(), ofKinds(3, 0, 2, true)); s != nil || !errors.Is(err, errLate) {
		t.Errorf("%v, %v, want the method's error", s, err)
	}
}
