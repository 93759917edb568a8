package share

import (
	"fmt"
	"testing"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/stage"
	"example.com/colloc/profile"
)

// TestFrame: each task of the queue takes idle GPUs, or joins those that score highest among
// those that it may join, the first of equals.
func TestFrame(t *testing.T) {
	one := sim.Task{GPUs: 1, Memory: profile.GiB}
	two, large, apart, cores := one, one, one, one
	two.GPUs, large.Memory, apart.GPUs, cores.CPU = 2, 15*profile.GiB, 3, 3
	huge, urgent := large, one
	huge.Memory = 20 * profile.GiB
	urgent.Priority = 1
	host := sim.Task{HostOnly: true, CPU: 1}
	last := func(_ *sim.State, _ *sim.TaskView, g *sim.GPUView) float64 { return float64(g.Index) }
	same := func(*sim.State, *sim.TaskView, *sim.GPUView) float64 { return -1 }
	never := func(*sim.State, *sim.TaskView) bool { return false }
	list := func(tasks ...sim.Task) []sim.Task { return tasks }
	for _, tt := range []struct {
		name  string
		frame Frame
		tasks []sim.Task
		want  string // where they are
	}{
		{"idle GPUs first", Frame{Score: last}, list(one, one, one, one, one, one), "[[0] [1] [2] [3] [3] [3]]"},
		{"sets of two", Frame{Score: last, Most: 2}, list(one, one, one, one, one, one), "[[0] [1] [2] [3] [3] [2]]"},
		{"the best GPU, idle or not", Frame{Score: last, Alone: never}, list(one, one), "[[3] [3]]"},
		{"the first of equals", Frame{Score: same, Alone: never}, list(one, one, two), "[[0] [0] [0 1]]"},
		{"nobody overtakes", Frame{Score: last}, list(large, large, large, large, large, one), "[[0] [1] [2] [3] [] []]"},
		{"those that fit overtake", Frame{Score: last, Overtake: true}, list(large, large, large, large, large, one), "[[0] [1] [2] [3] [] [3]]"},
		{"the filter", Frame{Score: last, Alone: never, Allow: func(_ *sim.State, _ *sim.TaskView, g *sim.GPUView) bool { return g.Index < 2 }}, list(one, two), "[[1] [1 0]]"},
		{"a gang in one machine, the best of it", Frame{Score: last, Alone: never}, list(two), "[[1 0]]"},
		{"a gang in several", Frame{Score: last, Alone: never}, list(apart), "[[3 2 1]]"},
		{"a gang that must be in one", Frame{Score: last, Alone: never, Overtake: true}, list(func() sim.Task { x := apart; x.OneNode = true; return x }(), one), "[[] [3]]"},
		{"a gang without the cores", Frame{Score: last, Alone: never, Overtake: true}, list(func() sim.Task { x := two; x.CPU = 5; return x }(), cores, cores, cores), "[[] [3] [1] []]"},
		{"a task without GPUs", Frame{Score: last}, list(host, one), "[[] [0]]"},
		{"by an order", Frame{Score: last, Alone: never, Most: 1, Order: func(_ *sim.State, a, b *sim.TaskView) int { return b.Index - a.Index }}, list(one, urgent, one), "[[1] [3] [2]]"},
		{"by an order, and nobody overtakes", Frame{Score: last, Order: func(_ *sim.State, a, b *sim.TaskView) int { return b.Index - a.Index }}, list(one, large, large, large, large, large), "[[] [] [3] [2] [1] [0]]"},
		{"by an order, and those that fit overtake", Frame{Score: last, Overtake: true, Order: func(_ *sim.State, a, b *sim.TaskView) int { return b.Index - a.Index }}, list(one, large, large, large, large, large), "[[3] [] [3] [2] [1] [0]]"},
		{"memory is not looked at", Frame{Score: last, Alone: never, Blind: true}, list(huge, large), "[[3] [3]]"},
	} {
		c := stage.Machines(2, 2)
		for i := range c.Nodes {
			c.Nodes[i].CPU = 4
		}
		stage.Play(t, c, tt.tasks, sim.Options{MaxFailures: 1}, func(s *sim.State) {
			if err := tt.frame.Decide(s); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range tt.tasks {
				got = append(got, fmt.Sprint(s.Task(i).On))
				if v := s.Task(i); v.HostOnly && !v.Running() {
					t.Errorf("%s: task %d does not run", tt.name, i)
				}
			}
			if fmt.Sprint(got) != tt.want {
				t.Errorf("%s: tasks are on %v, want %s", tt.name, got, tt.want)
			}
		})
	}
}

// TestFrameAfterDeath: a task that ran out of memory gets idle GPUs alone.
func TestFrameAfterDeath(t *testing.T) {
	f := &Frame{
		Score: func(*sim.State, *sim.TaskView, *sim.GPUView) float64 { return 0 },
		Alone: func(*sim.State, *sim.TaskView) bool { return false },
	}
	stage.Play(t, stage.Machines(2), []sim.Task{{}, {}, {}}, sim.Options{}, func(s *sim.State) {
		s.Start(s.Task(0), 0)
		s.Task(1).Deaths, s.Task(2).Deaths = 1, 1
		if !f.Place(s, s.Task(1)) || s.Task(1).On[0] != 1 {
			t.Errorf("it runs on %v, want the GPU that is idle", s.Task(1).On)
		}
		if f.Place(s, s.Task(2)) {
			t.Errorf("it runs on %v beside another", s.Task(2).On)
		}
	})
}
