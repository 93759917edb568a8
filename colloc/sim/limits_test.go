package sim_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// TestOneFault: a task whose numbers are all at the ends of what is allowed is none, and
// of one with a single fault that alone is told.
func TestOneFault(t *testing.T) {
	least := sim.Task{ID: "least", Work: 1}
	most := sim.Task{ID: "most", Arrival: math.MaxInt64, Work: math.MaxInt64, GPUs: 1, Share: 1, CPU: 1e9 - 1, Busy: 1, Bandwidth: 1}
	most.Service = &profile.Server{Rate: 1, Swing: 1, Capacity: 3, Limit: time.Second} // at its peak it needs all
	for _, x := range []sim.Task{least, most} {
		if err := x.Validate(); err != nil {
			t.Errorf("%v, want none", err)
		}
	}
	for field, change := range map[string]func(*sim.Task){
		"ID": func(x *sim.Task) { x.ID = "" }, "Arrival": func(x *sim.Task) { x.Arrival = -1 }, "Work": func(x *sim.Task) { x.Work = 0 },
		"GPUs": func(x *sim.Task) { x.GPUs = -1 }, "Memory": func(x *sim.Task) { x.Memory = -1 }, "HostMemory": func(x *sim.Task) { x.HostMemory = -1 },
		"Share": func(x *sim.Task) { x.Share = 1.01 }, "CPU": func(x *sim.Task) { x.CPU = 1e9 }, "Busy": func(x *sim.Task) { x.Busy = math.NaN() },
		"Bandwidth": func(x *sim.Task) { x.Bandwidth = -0.1 }, "Startup": func(x *sim.Task) { x.Startup = -1 }, "Profiling": func(x *sim.Task) { x.Profiling = -1 },
		"Service": func(x *sim.Task) { x.Service = &profile.Server{Rate: 1, Capacity: 1, Limit: time.Second} },
	} {
		for _, x := range []sim.Task{least, most} {
			change(&x)
			err := x.Validate()
			if err == nil || !strings.Contains(err.Error(), ": "+field+" is ") || strings.Count(err.Error(), ", want ") != 1 {
				t.Errorf("%s is wrong: %v", field, err)
			}
		}
	}
}

// TestServiceFloor: what a policy is told that a service needs is the most that it needs
// at any time of a day.
func TestServiceFloor(t *testing.T) {
	s := profile.Server{Rate: 3, Swing: 0.5, Capacity: 8, Limit: 400 * time.Millisecond}
	most := 0.0
	for at := time.Duration(0); at < 24*time.Hour; at += time.Minute {
		most = max(most, s.Floor(at))
	}
	x := task("a", 0, 10, 1)
	x.Service = &s
	told := 0.0
	run(t, cards(1), []sim.Task{x}, script(func(s *sim.State) error {
		for v := range s.Waiting() {
			told = v.Floor
		}
		return pile(s)
	}), sim.Options{})
	if math.Abs(told-most) > 1e-12 {
		t.Errorf("the policy is told %v, want %v", told, most)
	}
}

// TestHost: what tasks want of a machine's memory is taken from it and given back, and a
// machine without a limit never has less; tasks without GPUs share its cores, too.
func TestHost(t *testing.T) {
	c := cards(2)
	c.Nodes[0].Memory = 10 * profile.GiB
	a, b := task("a", 0, 100, 1), task("b", 0, 100, 1)
	a.HostMemory, b.HostMemory = 6*profile.GiB, 6*profile.GiB
	var left []profile.Bytes
	look := script(func(s *sim.State) error {
		err := pile(s)
		left = append(left, s.Nodes()[0].Memory)
		return err
	})
	alone := sim.Options{Truth: sim.Constant{1, 1}}
	r := run(t, c, []sim.Task{a, b}, look, alone)
	if want := fmt.Sprint([]profile.Bytes{4 * profile.GiB, 4 * profile.GiB, 10 * profile.GiB}); r.Makespan != seconds(200) || fmt.Sprint(left) != want {
		t.Errorf("makespan %v and memory left %v, want 200 s and %v", r.Makespan, left, want)
	}
	apart, gang := cards(1), task("gang", 0, 100, 1)
	apart.Nodes = append(apart.Nodes, cards(1).Nodes...)
	gang.GPUs, gang.HostMemory = 2, 6*profile.GiB
	for i := range apart.Nodes {
		apart.Nodes[i].Memory = 10 * profile.GiB
	}
	left = nil
	run(t, apart, []sim.Task{gang}, look, alone)
	if want := fmt.Sprint([]profile.Bytes{7 * profile.GiB, 10 * profile.GiB}); fmt.Sprint(left) != want {
		t.Errorf("of a gang in two machines that wants 6 GiB, memory left %v, want %v", left, want)
	}
	c.Nodes[0].Memory, left = 0, nil
	r = run(t, c, []sim.Task{a, b}, look, alone)
	if r.Makespan != seconds(100) || left[0] != math.MaxInt64 || left[len(left)-1] != math.MaxInt64 {
		t.Errorf("without a limit: makespan %v and memory left %v", r.Makespan, left)
	}
	c.Nodes[0].CPU = 4
	for _, x := range []*sim.Task{&a, &b} {
		x.HostOnly, x.GPUs, x.CPU, x.HostMemory = true, 0, 4, 0
	}
	r = run(t, c, []sim.Task{a, b}, script(func(s *sim.State) error {
		for v := range s.Waiting() {
			s.Place(sim.Launch{Task: v.Index})
		}
		return nil
	}), sim.Options{ShareCPU: true})
	if r.Makespan != seconds(200) { // each has half of the cores that it wants
		t.Errorf("makespan %v of tasks that share cores, want 200 s", r.Makespan)
	}
}

// TestViews: a policy sees each idle GPU once, no task before it came, a GPU's bandwidth
// in use up to all of it, and no share taken where no task is.
func TestViews(t *testing.T) {
	c := cards(130)
	var tasks []sim.Task
	for i, share := range []float64{0.1, 0.2, 0.3} {
		x := task(strconv.Itoa(i), 10*i, 100, 1)
		x.Share, x.Bandwidth = share, 0.4
		tasks = append(tasks, x)
	}
	most := 0.0
	run(t, c, tasks, script(func(s *sim.State) error {
		if s.Task(-1) != nil || s.Task(3) != nil || (s.Task(2) != nil) != (s.Now() >= seconds(20)) {
			return errors.New("a task that is not there, or not yet")
		}
		idle := 0
		for g := range s.Idle() {
			if g.Index < idle {
				return fmt.Errorf("GPU %d comes late or again", g.Index)
			}
			idle = g.Index + 1
		}
		first := s.GPUs()[0]
		if len(first.Set) == 0 && first.Share != 0 {
			return fmt.Errorf("%v of GPU 0 is taken by nobody", first.Share)
		}
		if want := min(1, 0.4*float64(len(first.Set))); math.Abs(first.Bandwidth-want) > 1e-9 && s.Now() < seconds(30) {
			return fmt.Errorf("%v of the bandwidth is in use, want %v", first.Bandwidth, want)
		}
		most = max(most, first.Bandwidth)
		s.WakeAt(seconds(25))
		if idle != len(s.GPUs()) {
			return fmt.Errorf("the last idle GPU is %d", idle-1)
		}
		for v := range s.Waiting() {
			s.Start(v, 0)
		}
		return nil
	}), sim.Options{Truth: sim.Constant{1, 1, 1}})
	if most != 1 {
		t.Errorf("at most %v of the bandwidth was in use, want 1", most)
	}
}

// TestSlowedBandwidth: a task that runs at half its speed uses half its bandwidth.
func TestSlowedBandwidth(t *testing.T) {
	tasks := []sim.Task{task("a", 0, 100, 1), task("b", 0, 100, 1)}
	for i := range tasks {
		tasks[i].Bandwidth = 0.6
	}
	run(t, cards(1), tasks, script(func(s *sim.State) error {
		if got := s.GPUs()[0].Bandwidth; s.Now() == seconds(10) && math.Abs(got-0.6) > 1e-9 {
			return fmt.Errorf("%v of the bandwidth is in use, want 0.6", got)
		}
		s.WakeAt(seconds(10))
		return pile(s)
	}), sim.Options{})
}

// TestMemoryWithoutLimit: a card of which no memory is known has as much as anybody wants.
func TestMemoryWithoutLimit(t *testing.T) {
	c := &sim.Cluster{Nodes: []sim.Node{{GPUs: make([]sim.GPU, 1)}}}
	if r := run(t, c, []sim.Task{task("a", 0, 10, 1<<20)}, script(pile), sim.Options{}); r.Finished != 1 {
		t.Errorf("%+v", r)
	}
}

// TestIdleWatts: a card that does not say what it draws idle draws 15 % of its limit.
func TestIdleWatts(t *testing.T) {
	c := &sim.Cluster{Nodes: []sim.Node{{GPUs: []sim.GPU{{Model: profile.GPUModel{Name: "card", Memory: profile.GiB, PowerWatts: 400}}}}}}
	r := run(t, c, []sim.Task{task("a", 10, 10, 1)}, script(pile), sim.Options{})
	if want := 10*60 + 10*400.0; math.Abs(r.Energy-want) > 1e-6 {
		t.Errorf("energy is %v J, want %v J", r.Energy, want)
	}
}
