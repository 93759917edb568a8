package request

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/stage"
	"example.com/colloc/profile"
)

// TestFrame: each task goes to the machine of the best score where its requests fit, the first
// of equals, and those that fit nowhere are overtaken. Device memory is no request.
func TestFrame(t *testing.T) {
	first := func(n *Machine, t *sim.TaskView) (float64, []int) { return 0, n.Tightest(t) }
	emptiest := func(n *Machine, t *sim.TaskView) (float64, []int) { return n.Sum, n.Tightest(t) }
	part := func(share float64) sim.Task { return sim.Task{GPUs: 1, Share: share, Memory: 20 * profile.GiB} }
	gang := func(gpus int, share float64) sim.Task { return sim.Task{GPUs: gpus, Share: share} }
	only := func(products ...string) sim.Task { return sim.Task{Only: products} }
	for _, tt := range []struct {
		name  string
		score func(n *Machine, t *sim.TaskView) (float64, []int)
		tasks []sim.Task
		want  string // where they are
	}{
		{"the first of equals", first, []sim.Task{part(0.5), part(0.5)}, "[[0] [0]]"},
		{"the best", emptiest, []sim.Task{part(0.5), part(0.5)}, "[[2] [2]]"},
		{"where least is left", first, []sim.Task{part(0.75), gang(2, 0.25), part(0.5)}, "[[0] [0 1] [1]]"},
		{"a gang where least is left", first, []sim.Task{part(0.5), part(0.75), gang(2, 0.25)}, "[[0] [1] [1 0]]"},
		{"parts that add up, rounded or not", first, []sim.Task{part(0.7), part(0.2), part(0.1), part(0.1)}, "[[0] [0] [0] [1]]"},
		{"a whole GPU", first, []sim.Task{gang(1, 0), part(0.25), gang(1, 0)}, "[[0] [1] [2]]"},
		{"who does not fit is overtaken", first, []sim.Task{gang(4, 0), gang(3, 0), gang(2, 0)}, "[[] [2 3 4] [0 1]]"},
		{"products", first, []sim.Task{only("none"), only("none", "other"), only("other"), only("card")}, "[[] [5] [] [0]]"},
	} {
		c := stage.Machines(2, 3, 1, 2)
		c.Nodes[2].GPUs[0].Model.Name, c.Nodes[3].GPUs[1].Model.Name = "other", "other"
		for _, kept := range []bool{true, false} {
			stage.Play(t, c, tt.tasks, sim.Options{MaxFailures: 1}, func(s *sim.State) {
				f := &Frame{Score: tt.score, Kept: kept}
				f.Begin(s)
				if err := f.Decide(s); err != nil {
					t.Fatal(err)
				}
				var got []string
				for i := range tt.tasks {
					got = append(got, fmt.Sprint(s.Task(i).On))
				}
				if fmt.Sprint(got) != tt.want {
					t.Errorf("%s: tasks are on %v, want %s", tt.name, got, tt.want)
				}
			})
		}
	}
}

// TestHostRequests: cores and host memory are requests, of tasks without GPUs too.
func TestHostRequests(t *testing.T) {
	tasks := []sim.Task{
		{HostOnly: true, CPU: 3},
		{HostOnly: true, CPU: 2, HostMemory: profile.GiB},
		{HostOnly: true, CPU: 1, HostMemory: 9 * profile.GiB},
		{GPUs: 1, CPU: 2, HostMemory: 8 * profile.GiB},
		{GPUs: 1, CPU: 1, HostMemory: 7 * profile.GiB},
	}
	c := stage.Machines(1, 1)
	for i := range c.Nodes {
		c.Nodes[i].CPU, c.Nodes[i].Memory = 4, 8*profile.GiB
	}
	stage.Play(t, c, tasks, sim.Options{}, func(s *sim.State) {
		f := &Frame{Score: func(n *Machine, t *sim.TaskView) (float64, []int) {
			if t.HostOnly {
				return 0, nil
			}
			return 0, n.Tightest(t)
		}}
		f.Begin(s)
		if err := f.Decide(s); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"0", "1", "none", "none", "[0]"} {
			got := "none"
			if v := s.Task(i); v.Running() && v.HostOnly {
				got = strconv.Itoa(v.Node)
			} else if v.Running() {
				got = fmt.Sprint(v.On)
			}
			if got != want {
				t.Errorf("task %d runs on %s, want %s", i, got, want)
			}
		}
	})
}

// TestKept: a score that is kept is asked for once, until the machine changes or it is forgotten.
func TestKept(t *testing.T) {
	var tasks []sim.Task
	for range 4 {
		tasks = append(tasks, sim.Task{GPUs: 1, Share: 0.25})
	}
	stage.Play(t, stage.Machines(1, 1, 1), tasks, sim.Options{}, func(s *sim.State) {
		asked := 0
		f := &Frame{Kept: true, Score: func(n *Machine, t *sim.TaskView) (float64, []int) {
			asked++
			return 0, n.Tightest(t)
		}}
		f.Begin(s)
		for i, want := range []int{3 + 1, 1 + 1, 1 + 1, 3 + 1} { // of each machine that changed, and where it goes
			if i == 3 {
				f.Forget()
			}
			asked = 0
			if f.place(s, s.Task(i)); asked != want || !slices.Equal(s.Task(i).On, []int{0}) {
				t.Errorf("task %d: asked %d times, want %d; it runs on %v", i, asked, want, s.Task(i).On)
			}
		}
	})
}

// TestFailedGPU: what is down has nothing left.
func TestFailedGPU(t *testing.T) {
	stage.Play(t, stage.Machines(2), []sim.Task{{GPUs: 1, Share: 0.5}, {GPUs: 2}}, sim.Options{}, func(s *sim.State) {
		f := &Frame{Score: func(n *Machine, t *sim.TaskView) (float64, []int) { return n.Sum, n.Tightest(t) }}
		f.Begin(s)
		s.GPUs()[0].Up = false
		f.update(s, 0)
		if err := f.Decide(s); err != nil {
			t.Fatal(err)
		}
		if on := s.Task(0).On; !slices.Equal(on, []int{1}) || s.Task(1).Running() || f.all[0].Sum != 0.5 {
			t.Errorf("the half runs on %v, %v is left; want GPU 1 and a half", on, f.all[0].Sum)
		}
	})
}
