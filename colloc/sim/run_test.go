package sim_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// TestRun compares whole runs with what they must come to by hand.
func TestRun(t *testing.T) {
	startup := task("a", 0, 100, 1)
	startup.Startup = seconds(20)
	late := task("late", 50, 100, 1)
	late.Startup = seconds(10)
	gang := task("gang", 0, 60, 1)
	gang.GPUs = 2
	host := task("host", 0, 100, 0)
	host.HostOnly, host.GPUs, host.Startup = true, 0, seconds(20)
	tests := []struct {
		name  string
		gpus  int
		tasks []sim.Task
		o     sim.Options
		ends  []int // when tasks end, in seconds, in their order
	}{
		{name: "nothing", gpus: 1},
		{name: "one", gpus: 1, tasks: []sim.Task{task("a", 5, 100, 1)}, ends: []int{105}},
		{
			name: "exact time-slicing", gpus: 1,
			// both run at ½ from 0 to 40, then b at 1
			tasks: []sim.Task{task("a", 0, 20, 1), task("b", 0, 50, 1)}, ends: []int{40, 70},
		},
		{
			name: "no interference", gpus: 1, o: sim.Options{Truth: sim.Constant{1, 1}},
			tasks: []sim.Task{task("a", 0, 20, 1), task("b", 0, 50, 1)}, ends: []int{20, 50},
		},
		{
			name: "memory makes the third wait", gpus: 1, o: sim.Options{Truth: sim.Constant{1, 1, 1}},
			tasks: []sim.Task{task("a", 0, 20, 5), task("b", 0, 50, 5), task("c", 0, 10, 5)}, ends: []int{20, 50, 30},
		},
		{
			name: "start-up", gpus: 1, tasks: []sim.Task{startup}, ends: []int{120},
		},
		{
			name: "decisions that restart all", gpus: 1, o: sim.Options{Truth: sim.Constant{1, 1}, RestartAll: true},
			// at 50 a loses its own start-up, at 120, when a is done, late those of both
			tasks: []sim.Task{startup, late}, ends: []int{120, 180},
		},
		{
			name: "decisions that restart a task without GPUs", gpus: 1, o: sim.Options{Truth: sim.Constant{1}, RestartAll: true},
			tasks: []sim.Task{host, task("late", 50, 100, 1)}, ends: []int{120, 150}, // at 50 it loses its start-up
		},
		{
			name: "the fastest that may be", gpus: 1, o: sim.Options{Truth: sim.Constant{sim.MaxSpeed}},
			tasks: []sim.Task{task("a", 0, 2*sim.MaxSpeed, 1)}, ends: []int{2},
		},
		{
			name: "a gang runs at the speed of its slowest GPU", gpus: 2,
			// a shares GPU 0: the gang runs at ½ until a is done at 40
			tasks: []sim.Task{task("a", 0, 20, 1), gang}, ends: []int{40, 80},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, cards(tt.gpus), tt.tasks, script(pile), tt.o)
			ends := map[string]time.Duration{}
			for _, e := range r.Ends {
				ends[e.ID] = e.End
			}
			want := map[string]time.Duration{}
			for i, e := range tt.ends {
				want[tt.tasks[i].ID] = seconds(e)
			}
			if diff := cmp.Diff(want, ends); diff != "" {
				t.Errorf("ends (-want +got):\n%s", diff)
			}
			if n := len(r.Ends); n > 0 && r.Makespan != r.Ends[n-1].End-tt.tasks[0].Arrival {
				t.Errorf("makespan is %v, want it from the first arrival at %v", r.Makespan, tt.tasks[0].Arrival)
			}
		})
	}
}

// TestMetrics checks every number of a Result on a run that can be worked out:
// a (0 to 100 s) alone on GPU 0, b from 10 on GPU 1, c waits until 50 s.
func TestMetrics(t *testing.T) {
	a, b, c := task("a", 0, 100, 8), task("b", 10, 40, 8), task("c", 20, 50, 8)
	a.Busy = 0.5
	r := run(t, cards(2), []sim.Task{a, b, c}, script(pile), sim.Options{})
	if got, want := r.Makespan, seconds(100); got != want {
		t.Errorf("makespan %v, want %v", got, want)
	}
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	near("mean JCT", r.MeanJCT.Seconds(), (100+40+80)/3.)
	near("P50", r.P50JCT.Seconds(), 80)
	near("P99", r.P99JCT.Seconds(), 100)
	near("mean wait", r.MeanWait.Seconds(), 30/3.)
	// GPU 0: 100 s at 200 W; GPU 1: 10 s at 100 W, 90 s at 300 W
	near("energy", r.Energy, 100*200+10*100+90*300)
	near("busy", r.Busy, (0.5*100+90)/200)
	near("occupied", r.Occupied, 190./200)
	near("allocated", r.Allocated, 190./200)
	// c was there 20 to 100 beside 1 or 2 others: (30·3 + 50·2)/80 tasks on average,
	// so that its own share of two GPUs is 2 / that.
	peers := (30*3 + 50*2.) / 80
	for _, e := range r.Ends {
		if e.ID == "c" {
			near("ratio of c", e.Ratio, 80/(50*peers/2))
		}
	}
	if r.Tasks != 3 || r.Finished != 3 || r.Events != 9 || r.OutOfMemory+r.Recoveries+r.Preemptions+r.Failed+r.Unfinished != 0 {
		t.Errorf("counts: %+v", r)
	}
	last := r.Series[len(r.Series)-1]
	if want := (sim.Point{At: last.At, Running: 2, Occupied: 1, Allocated: 1, Busy: 0.75, Memory: 0.8, Watts: 500}); r.Series[0].At != 0 || last.At >= seconds(100) || last != want {
		t.Errorf("series from %+v to %+v", r.Series[0], last)
	}
}

// TestFairness: of two gangs of all GPUs that come at once, the first ends in half the time
// that is its own share, and the second, which is alone for half of its time, late; a third
// is alone all the time.
func TestFairness(t *testing.T) {
	tasks := []sim.Task{task("first", 0, 50, 8), task("second", 0, 50, 8), task("third", 100, 50, 8)}
	for i := range tasks {
		tasks[i].GPUs = 2
	}
	r := run(t, cards(2), tasks, script(pile), sim.Options{})
	first, second, third := 50/(50*2.), 100/(50*1.5), 1.
	if f := r.Fairness; math.Abs(f.Mean-(first+second+third)/3) > 1e-9 || math.Abs(f.Max-second) > 1e-9 {
		t.Errorf("finish-time ratios %+v, want %v, %v and %v", f, first, second, third)
	}
}

// TestOutOfMemory: b's true memory does not fit beside a; it dies after 30 s with
// its work and runs again when a is done.
func TestOutOfMemory(t *testing.T) {
	tasks := []sim.Task{task("a", 0, 100, 7), task("b", 0, 100, 7)}
	died := false
	p := script(func(s *sim.State) error {
		for t := range s.Waiting() {
			if t.Deaths > 0 {
				died = true
				if g := s.GPUs()[0]; len(g.Set) > 0 {
					continue
				}
			}
			s.Start(t, 0)
		}
		return nil
	})
	var kinds []sim.EventKind
	r := run(t, cards(1), tasks, p, sim.Options{
		Reserve: func(*sim.Task) profile.Bytes { return profile.GiB },
		OnEvent: func(e *sim.Event) {
			kinds = append(kinds, e.Kind)
			if e.Kind == sim.OutOfMemory && (e.Memory != 14*profile.GiB || e.Total != 10*profile.GiB || e.At != seconds(30)) {
				t.Errorf("death: %+v", e)
			}
		},
	})
	want := []sim.EventKind{
		sim.Arrival, sim.Arrival, sim.Start, sim.Start, sim.SpeedChange, sim.SpeedChange, sim.OutOfMemory,
		sim.SpeedChange, sim.Finish, sim.Recovery, sim.Finish,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	// both at ½ for 30 s, then a alone: done at 115; b again 100 s
	if !died || r.Events != 8 || r.OutOfMemory != 1 || r.Recoveries != 1 || r.Makespan != seconds(215) || r.Wasted != seconds(15) {
		t.Errorf("died %v, %+v", died, r)
	}
}

// TestGivenUp: a task larger than every GPU is given up after MaxFailures, and then no
// longer among those that come.
func TestGivenUp(t *testing.T) {
	r := run(t, cards(1), []sim.Task{task("a", 0, 100, 11)}, script(func(s *sim.State) error {
		if ended, arrived := len(s.Ended()), len(s.Arrived()); ended+arrived != 1 {
			t.Errorf("at %v %d tasks came and %d ended, want one or the other", s.Now(), arrived, ended)
		}
		for t := range s.Waiting() {
			s.Place(sim.Launch{Task: t.Index, GPUs: []int{0}, Reserve: profile.Some[profile.Bytes](0)})
		}
		return nil
	}), sim.Options{MaxFailures: 3})
	if r.Events != 8 || r.OutOfMemory != 3 || r.Failed != 1 || r.Finished != 0 || r.Ends[0].End != seconds(90) {
		t.Errorf("%+v", r)
	}
}

// TestPreemption: a stops at 30 s for b and loses nothing but its start-up.
func TestPreemption(t *testing.T) {
	a, b := task("a", 0, 100, 1), task("b", 30, 20, 1)
	a.Startup = seconds(10)
	r := run(t, cards(1), []sim.Task{a, b}, script(func(s *sim.State) error {
		for t := range s.Running() {
			if len(s.Arrived()) > 0 && t.ID == "a" {
				if got := s.Attained(t); got != seconds(30) {
					return errors.New("attained " + got.String())
				}
				if got := s.Progress(t); got != 0.2 {
					return errors.New("progress of a at 30 s is not 0.2")
				}
				if got := s.Remaining(t); got != seconds(80) {
					return errors.New("remaining of a at 30 s is " + got.String())
				}
				s.Stop(t)
			}
		}
		var last *sim.TaskView
		for t := range s.Waiting() {
			if last == nil || t.ID == "b" {
				last = t
			}
		}
		if g := first(s.Idle()); g != nil && last != nil {
			s.Start(last, g.Index)
		}
		return nil
	}), sim.Options{})
	// a: 10 start-up + 20 work, b until 50, 10 start-up + 80 work
	if r.Events != 8 || r.Makespan != seconds(140) || r.Preemptions != 1 || r.Wasted != 0 {
		t.Errorf("%+v", r)
	}
	for _, e := range r.Ends {
		if e.ID == "a" && (e.Start != 0 || e.Wait != seconds(20)) {
			t.Errorf("a started first at %v and waited %v, want 0 and 20 s", e.Start, e.Wait)
		}
	}
}

// TestLoss: GPU 0 fails at 100 s for 50 s; checkpoints come every 30 s of which
// each costs 5 s.
func TestLoss(t *testing.T) {
	c := cards(1)
	c.Losses = []sim.Loss{{GPU: 0, At: seconds(100), For: seconds(50)}}
	r := run(t, c, []sim.Task{task("a", 0, 200, 1)}, script(pile), sim.Options{Checkpoint: seconds(30), CheckpointCost: seconds(5)})
	// checkpoints at 30, 60, 90 save 30, 55, 80 s; 5 s of work are lost at 100.
	// From 150: 120 s are left; 30 + 25·3 are done by 270, after the checkpoint 15 more.
	if r.Makespan != seconds(290) || r.Wasted != seconds(5) || r.Recoveries != 1 {
		t.Errorf("makespan %v, wasted %v, recoveries %d", r.Makespan, r.Wasted, r.Recoveries)
	}
}

// TestUntil: the simulation ends while a task runs.
func TestUntil(t *testing.T) {
	r := run(t, cards(2), []sim.Task{task("a", 0, 200, 1)}, script(pile), sim.Options{Until: seconds(50)})
	if r.Unfinished != 1 || r.Last.At != seconds(50) || r.Last.Occupied != 0.5 || r.Energy != 50*(300+100) {
		t.Errorf("%+v, last %+v", r, r.Last)
	}
}

// TestTie: a task whose memory does not fit lives if room is made at the very
// moment at which it would die.
func TestTie(t *testing.T) {
	tasks := []sim.Task{task("starved", 0, 100, 6), task("ends", 1, 30, 6)}
	var kinds []string
	r := run(t, cards(1), tasks, script(func(s *sim.State) error {
		if waiting, _ := s.Len(); waiting == 2 { // the one that came last is placed first
			s.Start(s.Task(1), 0)
			s.Place(sim.Launch{Task: 0, GPUs: []int{0}, Reserve: profile.Some[profile.Bytes](0)})
		}
		return nil
	}), sim.Options{Truth: sim.Constant{1, 1}, OnEvent: func(e *sim.Event) { kinds = append(kinds, e.Kind.String()) }})
	if r.OutOfMemory != 0 || r.Makespan != seconds(101) {
		t.Errorf("%d deaths, makespan %v; want none and 101 s; events %v", r.OutOfMemory, r.Makespan, kinds)
	}
}

// TestEnd: what would happen after the last task ended, a GPU that fails or a
// wake-up of the policy, does not count as time that the tasks took.
func TestEnd(t *testing.T) {
	c := cards(1)
	c.Losses = []sim.Loss{{GPU: 0, At: time.Hour, For: time.Hour}}
	r := run(t, c, []sim.Task{task("a", 0, 100, 1)}, script(func(s *sim.State) error {
		s.WakeAt(seconds(3000))
		return pile(s)
	}), sim.Options{})
	if r.Last.At != seconds(100) || r.Energy != 100*300 || r.Busy != 1 {
		t.Errorf("ends at %v with %v J, busy %v; want 100 s, 30 kJ, 1", r.Last.At, r.Energy, r.Busy)
	}
}

// TestFarTimes: times that would be beyond the range of Duration are never.
func TestFarTimes(t *testing.T) {
	const most = time.Duration(math.MaxInt64)
	alone := []sim.Task{task("a", 10, 100, 1)}
	both := append(slices.Clone(alone), task("b", 10, 100, 10)) // more than a card has
	slow, late := alone[0], alone[0]
	slow.Startup, late.Arrival = most, most-1
	lost := cards(1)
	lost.Losses = []sim.Loss{{GPU: 0, At: seconds(20), For: most}}
	for _, tt := range []struct {
		name     string
		c        *sim.Cluster
		tasks    []sim.Task
		o        sim.Options
		finished int
	}{
		{"death", cards(1), both, sim.Options{OOMAfter: most, Reserve: func(*sim.Task) profile.Bytes { return 0 }}, 2},
		{"checkpoint", cards(1), alone, sim.Options{Checkpoint: most}, 1},
		{"loss", lost, alone, sim.Options{}, 0},
		{"start-up", cards(1), []sim.Task{slow}, sim.Options{}, 0},
		{"arrival", cards(1), []sim.Task{late}, sim.Options{}, 0},
		{"end", cards(1), alone, sim.Options{Until: most}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, tt.c, tt.tasks, script(pile), tt.o)
			if r.Finished != tt.finished || r.Last.At < 0 || r.Energy < 0 {
				t.Errorf("%d finished, %v J, ended at %v; want %d", r.Finished, r.Energy, r.Last.At, tt.finished)
			}
		})
	}
}

// TestHostOnly: tasks without GPUs take CPU, run at full speed, and give it back.
func TestHostOnly(t *testing.T) {
	c := cards(1)
	c.Nodes[0].CPU = 4
	var tasks []sim.Task
	for _, id := range []string{"a", "b", "c"} {
		x := task(id, 0, 100, 0)
		x.HostOnly, x.GPUs, x.CPU = true, 0, 2
		tasks = append(tasks, x)
	}
	r := run(t, c, tasks, script(func(s *sim.State) error {
		for t := range s.Waiting() {
			if n := &s.Nodes()[0]; s.FitsHost(t, n, 0) {
				s.Place(sim.Launch{Task: t.Index})
			}
		}
		return nil
	}), sim.Options{})
	if r.Finished != 3 || r.Makespan != seconds(200) || r.Occupied != 0 {
		t.Errorf("%+v", r)
	}
}

// TestCancel: a cancelled run ends with ctx.Err().
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := sim.Run(ctx, cards(1), []sim.Task{task("a", 0, 1, 1)}, script(pile), sim.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestVain: a policy that only wakes up does not keep the simulation going, whatever
// wake-ups are to come.
func TestVain(t *testing.T) {
	r := run(t, cards(1), []sim.Task{task("a", 0, 1, 1), task("b", 1, 1, 1)}, script(func(s *sim.State) error {
		if s.Now() == 0 {
			s.WakeAt(time.Hour)
		} else {
			s.WakeAt(s.Now() + time.Second)
		}
		return nil
	}), sim.Options{})
	if r.Unfinished != 2 || r.Decisions > 2000 {
		t.Errorf("%+v", r)
	}
}
