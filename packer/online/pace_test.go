package online

import (
	"errors"
	"fmt"
	"math"
	rand "math/rand/v2"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// TestSessionGoesWhereThePaceIsHigher: one task and any two empty GPUs; a session
// and a plan agree.
func TestSessionGoesWhereThePaceIsHigher(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		table := packtest.PaceTable{"a": math.Pow(100, -rng.Float64()), "b": math.Pow(100, -rng.Float64())}
		switch rng.IntN(5) {
		case 0:
			table["b"] = table["a"]
		case 1:
			table["b"] = table["a"] * (1 + 1e-9)
		case 2:
			table["a"] = math.Pow(4000, -rng.Float64())
			table["b"] = table["a"] * (1 + 1e-5)
		default:
		}
		var gpus []packer.GPU
		for g, label := range []string{"a", "b"} {
			gpus = append(gpus, packer.GPU{ID: fmt.Sprint("g", g), Memory: profile.Bytes(1+rng.IntN(2)) * profile.GiB, Labels: []string{label}})
		}
		s, err := NewSession(gpus, table, packer.Limits{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		task := packer.Task{ID: "t"}
		d, err := s.Arrive(task)
		if err != nil {
			t.Fatal(err)
		}
		plan := packtest.Solve(t, solve.Auto{}, &packer.Problem{Tasks: []packer.Task{task}, GPUs: gpus, Model: table})
		want := table[gpus[d.GPU].Labels[0]]
		if d.GPU != plan.Sets[0].GPU || d.Speed != 1 || d.Gain != want || s.Throughput() != want {
			t.Fatalf("%v, %+v: %+v, throughput %v; the plan takes GPU %d", table, gpus, d, s.Throughput(), plan.Sets[0].GPU)
		}
		if other := table[gpus[1-d.GPU].Labels[0]]; other > want*(1+1.0/(1<<18)) {
			t.Fatalf("%v: on the one with %v", table, want)
		}
	}
}

// TestSessionMovesToTheFasterGPU: the task that was there before it moves, if that
// gains more than the MoveCost of what it does at home.
func TestSessionMovesToTheFasterGPU(t *testing.T) {
	for _, test := range []struct {
		cost float64
		want int
	}{{1, 1}, {5, 0}} { // 0.8 against 0.2 + cost · 0.2
		s, err := NewSession([]packer.GPU{{ID: "slow", Memory: profile.GiB, Labels: []string{"a"}}}, packtest.PaceTable{"a": 0.2, "b": 0.8}, packer.Limits{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Arrive(packer.Task{ID: "t", MoveCost: test.cost}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddGPU(packer.GPU{ID: "fast", Memory: profile.GiB, Labels: []string{"b"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Rebalance(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if g, _, _ := s.Where("t"); g != test.want {
			t.Errorf("MoveCost %v: on GPU %d, want %d", test.cost, g, test.want)
		}
	}
}

// TestSessionRefusesPaces that are none, and is as before.
func TestSessionRefusesPaces(t *testing.T) {
	s, err := NewSession([]packer.GPU{{ID: "g", Memory: profile.GiB, Labels: []string{"bad"}}}, packtest.PaceTable{"bad": 0}, packer.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Arrive(packer.Task{ID: "t"})
	if running, waiting := s.Tasks(); !errors.As(err, new(*packer.PaceError)) || running+waiting != 0 {
		t.Errorf("error %v, %d run and %d wait", err, running, waiting)
	}
	resident := packer.GPU{ID: "g", Memory: profile.GiB, Labels: []string{"bad"}, Residents: []packer.Task{{ID: "r"}}}
	if _, err := NewSession([]packer.GPU{resident}, packtest.PaceTable{"bad": 0}, packer.Limits{}, nil); !errors.As(err, new(*packer.PaceError)) {
		t.Errorf("error %v", err)
	}
}
