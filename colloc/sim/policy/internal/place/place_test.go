package place

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/stage"
	"example.com/colloc/profile"
)

// TestWhere: a gang takes the first machine with enough; one that is larger than any takes
// whole machines in their order, and the rest on the first other machine that has it. What is
// planned on an empty cluster is the same.
func TestWhere(t *testing.T) {
	large, small := []int{2, 4, 2}, []int{2, 2, 2}
	for _, tt := range []struct {
		machines []int
		gpus     int
		oneNode  bool
		busy     []int
		want     string
	}{
		{large, 1, false, nil, "[0]"},
		{large, 1, false, []int{0}, "[1]"},
		{large, 2, false, nil, "[0 1]"},
		{large, 2, false, []int{1}, "[2 3]"},
		{large, 3, false, nil, "[2 3 4]"},
		{large, 3, false, []int{2}, "[3 4 5]"},
		{large, 5, false, nil, "[0 1 6 7 2]"},
		{large, 5, true, nil, "[]"},
		{large, 6, false, nil, "[0 1 2 3 4 5]"},
		{large, 6, false, []int{7}, "[0 1 2 3 4 5]"},
		{large, 7, false, nil, "[0 1 2 3 4 5 6]"},
		{large, 7, false, []int{6}, "[0 1 2 3 4 5 7]"},
		{large, 8, false, nil, "[0 1 2 3 4 5 6 7]"},
		{large, 8, false, []int{3}, "[]"},
		{large, 9, false, nil, "[]"},
		{large, 20, false, nil, "[]"},
		{small, 3, false, nil, "[0 1 2]"},
		{small, 3, false, []int{2}, "[0 1 3]"},
	} {
		tasks := []sim.Task{{GPUs: tt.gpus, OneNode: tt.oneNode}}
		for range tt.busy {
			tasks = append(tasks, sim.Task{})
		}
		stage.Play(t, stage.Machines(tt.machines...), tasks, sim.Options{}, func(s *sim.State) {
			for i, g := range tt.busy {
				s.Start(s.Task(1+i), g)
			}
			var f Gang
			if got := fmt.Sprint(f.Idle(s, s.Task(0))); got != tt.want {
				t.Errorf("%d GPUs in one machine (%t) beside %v: %s, want %s", tt.gpus, tt.oneNode, tt.busy, got, tt.want)
			}
			var r Room
			r.Empty(s)
			if got := fmt.Sprint(r.Take(s, s.Task(0), nil)); got != tt.want && tt.busy == nil {
				t.Errorf("%d GPUs in one machine (%t), planned: %s, want %s", tt.gpus, tt.oneNode, got, tt.want)
			}
		})
	}
}

// TestRoom: a plan gives no GPU to two, counts those that are left, passes over cards that are
// down or that a task does not accept, and leaves out where those are that stay.
func TestRoom(t *testing.T) {
	c := stage.Machines(2, 2, 2)
	c.Nodes[1].GPUs[0].Model.Name = "other"
	c.Nodes[2].CPU, c.Nodes[2].Memory = 4, 8*profile.GiB
	c.Losses = []sim.Loss{{GPU: 0}}
	tasks := []sim.Task{
		{GPUs: 1, Memory: 16 * profile.GiB}, // all of a card
		{GPUs: 1, Memory: 17 * profile.GiB},
		{GPUs: 2, Only: []string{"card"}, CPU: 3, HostMemory: 7 * profile.GiB},
		{GPUs: 1, OneNode: true},
		{HostOnly: true},
	}
	stage.Play(t, c, tasks, sim.Options{}, func(s *sim.State) {
		var r Room
		for range 2 { // it may be used again
			r.Empty(s)
			for i, want := range []string{"[1]", "[]", "[4 5]", "[2]", "[]"} {
				if got := fmt.Sprint(r.Take(s, s.Task(i), nil)); got != want {
					t.Errorf("task %d: GPUs %s, want %s", i, got, want)
				}
			}
			if r.Left != 1 {
				t.Errorf("%d GPUs are left, want 1", r.Left)
			}
		}
		s.Start(s.Task(2), 4, 5)
		r.Empty(s)
		r.Keep(s, s.Task(2))
		if r.Left != 3 || r.host[2].CPU != 1 || r.host[2].Memory != profile.GiB {
			t.Errorf("%d GPUs, %v cores and %v are left beside who stays, want 3, 1 and 1 GiB", r.Left, r.host[2].CPU, r.host[2].Memory)
		}
		if got := fmt.Sprint(r.Take(s, s.Task(2), nil)); got != "[]" {
			t.Errorf("another such task gets %s of a machine without cores", got)
		}
	})
}

// TestRest: what is left of a gang may be all that is up on a machine, be it the first.
func TestRest(t *testing.T) {
	for down, want := range map[int][]int{2: {0, 1, 3}, 0: {2, 3, 1}} {
		c := stage.Machines(2, 2)
		c.Losses = []sim.Loss{{GPU: down}}
		stage.Play(t, c, []sim.Task{{GPUs: 3}}, sim.Options{}, func(s *sim.State) {
			var r Room
			r.Empty(s)
			if got := r.Take(s, s.Task(0), nil); !slices.Equal(got, want) {
				t.Errorf("GPUs %v beside %d that is down, want %v", got, down, want)
			}
		})
	}
}

// TestMaxSet: sets are of two unless another number is told.
func TestMaxSet(t *testing.T) {
	for n, want := range map[int]int{-1: 2, 0: 2, 1: 1, 2: 2, 3: 3} {
		if got := MaxSet(n); got != want {
			t.Errorf("the largest set for %d is %d, want %d", n, got, want)
		}
	}
}

// TestHosts: tasks without GPUs go to the first machine with the cores and the memory, and a plan
// leaves them theirs.
func TestHosts(t *testing.T) {
	c := stage.Machines(1, 1)
	for i := range c.Nodes {
		c.Nodes[i].CPU, c.Nodes[i].Memory = 4, 8*profile.GiB
	}
	tasks := []sim.Task{
		{HostOnly: true, CPU: 3},
		{HostOnly: true, CPU: 2, HostMemory: 8 * profile.GiB},
		{HostOnly: true, CPU: 2},
		{HostOnly: true, CPU: 5},
		{GPUs: 1, CPU: 3},
		{HostOnly: true, CPU: 1},
	}
	stage.Play(t, c, tasks, sim.Options{}, func(s *sim.State) {
		Hosts(s)
		var nodes []int
		for i, runs := range []bool{true, true, true, false, false, true} {
			if s.Task(i).Running() != runs {
				t.Errorf("task %d runs: %t", i, !runs)
			}
			nodes = append(nodes, s.Task(i).Node)
		}
		if want := []int{0, 1, 1, 0, 0, 0}; !slices.Equal(nodes, want) {
			t.Errorf("tasks are on machines %v, want %v", nodes, want)
		}
		var r Room
		if r.Empty(s); r.host[0].CPU != 0 || r.host[1].Memory != 0 || len(r.Take(s, s.Task(4), nil)) > 0 {
			t.Errorf("what is left: %+v", r.host)
		}
	})
}

// TestPreemptive: those with the least keys run, on GPUs of their own, those of a higher
// priority before; who runs stays where it is as long as the others find room.
func TestPreemptive(t *testing.T) {
	keys := []time.Duration{5, 1, 3, 2, 9, 0}
	tasks := []sim.Task{{GPUs: 1}, {GPUs: 2}, {GPUs: 1}, {GPUs: 4}, {GPUs: 1, Priority: 1}, {HostOnly: true}}
	p := &Preemptive{Key: func(_ *sim.State, t *sim.TaskView) time.Duration { return keys[t.Index] }}
	decide := func(s *sim.State, want string) {
		t.Helper()
		if err := p.Decide(s); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range keys {
			got = append(got, fmt.Sprint(s.Task(i).On))
		}
		if fmt.Sprint(got) != want || !s.Task(5).Running() {
			t.Errorf("keys %v: tasks are on %v, want %v", keys, got, want)
		}
	}
	stage.Play(t, stage.Machines(4), tasks, sim.Options{}, func(s *sim.State) {
		s.Start(s.Task(0), 3)
		decide(s, "[[] [0 1] [3] [] [2] []]") // 4 by priority, then 1 and 2; 3 is too large
		keys[2] = 6
		decide(s, "[[3] [0 1] [] [] [2] []]") // who stays does not move
		keys[3] = 0
		decide(s, "[[3] [0 1] [] [] [2] []]") // too large beside the first
	})
	stage.Play(t, stage.Machines(2, 2), []sim.Task{{GPUs: 1}, {GPUs: 1}, {GPUs: 2}, {GPUs: 1}, {GPUs: 1}, {HostOnly: true}}, sim.Options{}, func(s *sim.State) {
		keys = []time.Duration{1, 2, 0, 9, 9, 0}
		s.Start(s.Task(0), 0)
		s.Start(s.Task(1), 2)
		decide(s, "[[2] [3] [0 1] [] [] []]") // those that run move: the gang finds no machine else
	})
}

// TestPlansFitTogether: whatever a plan gives, no GPU is given twice, a gang that must be is in
// one machine, and cores and memory suffice for all.
func TestPlansFitTogether(t *testing.T) {
	draw := rand.New(rand.NewPCG(29, 1))
	placed := 0
	for range 200 {
		c := stage.Machines(1+draw.IntN(4), 1+draw.IntN(4), 1+draw.IntN(4))
		for i := range c.Nodes {
			c.Nodes[i].CPU = float64(8 * draw.IntN(3))
		}
		var tasks []sim.Task
		for range 6 {
			tasks = append(tasks, sim.Task{GPUs: 1 + draw.IntN(6), OneNode: draw.IntN(2) == 0, CPU: float64(draw.IntN(12))})
		}
		stage.Play(t, c, tasks, sim.Options{}, func(s *sim.State) {
			var r Room
			r.Empty(s)
			var plans [][]int
			for i := range tasks {
				plans = append(plans, r.Take(s, s.Task(i), nil))
			}
			for i, gpus := range plans { // what cannot be ends the run
				if len(gpus) > 0 {
					s.Start(s.Task(i), gpus...)
					placed++
				}
			}
		})
	}
	if placed < 300 {
		t.Errorf("only %d tasks were placed", placed)
	}
}

// TestMemory: the memory of a task is what is expected of it until it is seen.
func TestMemory(t *testing.T) {
	tasks := []sim.Task{
		{Memory: 5 * profile.GiB, Type: "x"}, {Memory: 9 * profile.GiB, Type: "x"}, {Memory: 6 * profile.GiB, Type: "y"}, {Memory: 7 * profile.GiB},
	}
	o := sim.Options{
		Likely:  func(t *sim.Task) profile.Bytes { return min(t.Memory, 8*profile.GiB) + profile.GiB },
		Reserve: func(*sim.Task) profile.Bytes { return 12 * profile.GiB },
	}
	var m Memory
	want := []profile.Bytes{6, 9, 7, 8}
	stage.Play(t, stage.Machines(1, 1), tasks, o, func(s *sim.State) {
		m.See(s)
		for i, gib := range want {
			if got := m.Need(s, s.Task(i)); got != gib*profile.GiB {
				t.Errorf("task %d needs %v, want %d GiB", i, got, gib)
			}
		}
		s.Place(sim.Launch{Task: 0, GPUs: []int{0}})
		if m.Joins(s, s.Task(1), s.GPUs()[0]) != true || m.Joins(s, s.Task(1), s.GPUs()[1]) != true {
			t.Error("6 and 9 GiB do not fit 16")
		}
		s.Place(sim.Launch{Task: 2, GPUs: []int{0}, Reserve: profile.Some[profile.Bytes](0)})
		if m.Joins(s, s.Task(3), s.GPUs()[0]) {
			t.Error("6, 7 and 8 GiB fit 16")
		}
	})
}
