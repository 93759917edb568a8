package simulate

import (
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/profile"
)

// TestWatch: a service is late while it waits, starts, or is too slow for its load;
// at noon less is asked of it than at six in the morning.
func TestWatch(t *testing.T) {
	tasks := []sim.Task{{
		ID: "s", Arrival: time.Hour, Work: 20 * time.Hour, Startup: 2 * time.Minute,
		Service: &profile.Server{Rate: 40, Swing: 0.5, Capacity: 100, Limit: 50 * time.Millisecond}, // floors .4 to .8, .6 at noon
	}}
	if newWatch([]sim.Task{{ID: "t"}}) != nil {
		t.Error("a task that is no service is watched")
	}
	w := newWatch(tasks)
	for _, e := range []struct {
		event sim.Event
		late  time.Duration // by then
	}{
		{sim.Event{At: time.Hour, Kind: sim.Arrival, Task: "s"}, 0},
		{sim.Event{At: 2 * time.Hour, Kind: sim.Start, Task: "s"}, time.Hour},
		{sim.Event{At: 5 * time.Hour, Kind: sim.SpeedChange, Task: "s", Speed: 0.7}, time.Hour + 2*time.Minute},
		{sim.Event{At: 6 * time.Hour, Kind: sim.Start, Task: "other"}, time.Hour + 2*time.Minute},
		{sim.Event{At: 7 * time.Hour, Kind: sim.SpeedChange, Task: "s", Speed: 0.61}, 3*time.Hour + 2*time.Minute},
		{sim.Event{At: 13 * time.Hour, Kind: sim.Finish, Task: "s"}, 0},
	} {
		w.note(&e.event)
		if e.late > 0 && w.late != e.late {
			t.Errorf("at %v it was late for %v, want %v", e.event.At, w.late, e.late)
		}
	}
	before := w.late
	// from 7 h on the floor of .61 is passed when 1 + sin/2 = 1.025: at 12 h - asin(.05) of the day, 11.81 h
	if got := before - (3*time.Hour + 2*time.Minute); got < 288*time.Minute || got > 290*time.Minute {
		t.Errorf("late for %v after 7 h, want 4.81 h", got)
	}
	w.finish(30 * time.Hour)
	if w.late != before {
		t.Error("a service that is gone is late")
	}
}

// TestServiceRun: a service is up for as long as it is meant to, however slow, and
// ours, who are told what it needs, let nobody disturb it that much.
func TestServiceRun(t *testing.T) {
	cluster, err := sim.ParseCluster("1xA100-40GB")
	if err != nil {
		t.Fatal(err)
	}
	tasks := []sim.Task{
		invented(0, 10*time.Hour, 0),
		{ID: "t", Work: time.Hour, Memory: 4 * profile.GiB, Class: "heavy", Arrival: time.Minute},
	}
	for _, tt := range []struct {
		policy sim.Policy
		late   bool
	}{
		{policy.Greedy{}, true},
		{policy.Colloc{}, false},
	} {
		s := study{cluster: cluster, draw: func(uint64) (day, error) {
			return day{tasks: tasks, options: sim.Options{Truth: speed.Contention{Scale: 3}}}, nil
		}}
		o, err := s.one(t.Context(), tt.policy, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range o.Ends {
			if e.ID == "service-0" && e.End-e.Start != 10*time.Hour {
				t.Errorf("%s: the service is up for %v, want 10 h", o.Policy, e.End-e.Start)
			}
		}
		if (o.Late > 0) != tt.late {
			t.Errorf("%s: the service is late for %v", o.Policy, o.Late)
		}
	}
}
