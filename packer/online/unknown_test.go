package online_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// oneByOne lets tasks run after each other on one GPU, each for so long, and returns when
// the last one ended.
func oneByOne(t *testing.T, s *online.Scheduler, lengths ...time.Duration) time.Duration {
	t.Helper()
	var at time.Duration
	for i, length := range lengths {
		id := fmt.Sprint("before", i)
		submit(t, s, job(id, 2, 1, length))
		decided(t, s, at)
		at += length
		if err := s.Finish(id); err != nil {
			t.Fatal(err)
		}
		decided(t, s, at)
	}
	return at
}

// unknown is a task that is alone on its GPU, of which nobody knows how long it runs.
func unknown(id string, restart profile.Opt[time.Duration]) online.Job {
	return online.Job{Task: packer.Task{ID: id, Memory: profile.GiB, Alone: true}, Restart: restart}
}

// what says who stops and starts.
func what(t *testing.T, s *online.Scheduler, at time.Duration) string {
	t.Helper()
	ds, err := s.Decide(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range ds {
		if none := (online.Decision{Task: d.Task}); !d.Placed && !reflect.DeepEqual(d, none) {
			t.Errorf("%s stops: %+v, want nothing beside its name", d.Task, d)
		}
		out = append(out, d.Task+map[bool]string{true: " starts", false: " stops"}[d.Placed])
	}
	return strings.Join(out, ", ")
}

// TestSchedulerUnknownOrder: where most tasks were short and a few ran for days, one that
// has run for an hour stops for a newer one and goes on after it; where all were equally long it
// runs on, and those that wait start in the order of arrival.
func TestSchedulerUnknownOrder(t *testing.T) {
	heavy, equal := []time.Duration{}, []time.Duration{}
	for i := range 33 {
		heavy = append(heavy, time.Minute)
		if i%11 == 0 {
			heavy[i] = 50 * time.Hour
		}
		equal = append(equal, 2*time.Hour)
	}
	minute, never := profile.Some(time.Minute), profile.Opt[time.Duration]{}
	for name, tt := range map[string]struct {
		before         []time.Duration
		restart        profile.Opt[time.Duration]
		second, fourth string
	}{
		"few are long":        {heavy, minute, "old stops, new starts", "newer starts"},
		"few are long, fixed": {heavy, never, "", "newer starts"},
		"all are equal":       {equal, minute, "", "new starts"},
	} {
		s := scheduler(t, 1, &online.SchedulerOptions{Objective: profile.Some(0.0)})
		at := oneByOne(t, s, tt.before...)
		submit(t, s, unknown("old", tt.restart))
		if got := what(t, s, at); got != "old starts" {
			t.Fatalf("%s: at first %s", name, got)
		}
		at += time.Hour
		submit(t, s, unknown("new", tt.restart))
		if got := what(t, s, at); got != tt.second {
			t.Errorf("%s: when a new one comes %q, want %q", name, got, tt.second)
			continue
		}
		at += time.Second
		running, _, _ := strings.Cut(strings.TrimPrefix(tt.second, "old stops, "), " ")
		if running == "" {
			running = "old"
		}
		submit(t, s, unknown("newer", tt.restart))
		if err := s.Finish(running); err != nil {
			t.Fatal(err)
		}
		if got := what(t, s, at); tt.second != "" && got != tt.fourth || tt.second == "" && got != "new starts" {
			t.Errorf("%s: when that ended %q, want %q", name, got, tt.fourth)
		}
	}
}

// TestSchedulerUnknownRepeats: what a task does again after it stopped does not count as
// work that it has behind it.
func TestSchedulerUnknownRepeats(t *testing.T) {
	left := func(restart time.Duration) time.Duration {
		s := scheduler(t, 1, &online.SchedulerOptions{Objective: profile.Some(0.0)})
		submit(t, s, unknown("old", profile.Some(restart)))
		decided(t, s, 0)
		submit(t, s, job("new", 2, 1, time.Minute))
		if got := what(t, s, 10*time.Hour); got != "old stops, new starts" {
			t.Fatalf("restart %v: %s", restart, got)
		}
		if err := s.Finish("new"); err != nil {
			t.Fatal(err)
		}
		what(t, s, 10*time.Hour+time.Minute)
		decided(t, s, 10*time.Hour+time.Minute+restart) // it is where it was
		_, last := s.Forecast()
		return last
	}
	if once, more := left(time.Second), left(30*time.Minute); once != more {
		t.Errorf("a task that is where it was has %v left after a second's restart, %v after half an hour's", once, more)
	}
}

// TestSchedulerUnknownGangs: of tasks of unknown length that never cease to come 64 pass a gang that came
// before them, though the shorter go first; then its GPUs are kept for it.
func TestSchedulerUnknownGangs(t *testing.T) {
	for _, budget := range []int{0, 1000} {
		s := scheduler(t, 2, &online.SchedulerOptions{Budget: profile.Some(budget)})
		submit(t, s, unknown("holds", profile.Opt[time.Duration]{}))
		decided(t, s, 0)
		gang := unknown("gang", profile.Opt[time.Duration]{})
		gang.GPUs = 2
		submit(t, s, gang)
		passed := 0
		for k := range 100 {
			id, at := fmt.Sprint("small", k), time.Duration(k)*time.Minute
			submit(t, s, unknown(id, profile.Opt[time.Duration]{}), unknown(id+"b", profile.Opt[time.Duration]{}))
			if got := what(t, s, at); got == "" {
				break
			} else if passed++; got != strings.Fields(got)[0]+" starts" {
				t.Fatalf("%s at %v", got, at)
			} else if err := s.Finish(strings.Fields(got)[0]); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Finish("holds"); err != nil {
			t.Fatal(err)
		}
		if got := what(t, s, 100*time.Minute); passed != 64 || got != "gang starts" {
			t.Errorf("budget %d: %d passed the gang, then %q", budget, passed, got)
		}
	}
}
