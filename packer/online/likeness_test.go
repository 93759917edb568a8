package online_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// TestSchedulerManyKinds: of kinds of which there are no tasks the newest are remembered, however
// many there were, and those of tasks that are there.
func TestSchedulerManyKinds(t *testing.T) {
	s := scheduler(t, 2, &online.SchedulerOptions{Budget: profile.Some(0)})
	of := func(k int) online.Job {
		j := job(fmt.Sprint("t", k), 2, 30, time.Hour)
		j.Kind = fmt.Sprint("k", k)
		return j
	}
	last := max(10_000, race.Fewer(20_000)) // more than are remembered
	for k := range last + 1 {
		submit(t, s, of(k))
		decided(t, s, time.Duration(k)*time.Second)
		ok(t, s.Seen(of(k).ID, 2*profile.GiB))
		if k > 0 {
			ok(t, s.Finish(of(k).ID))
		}
	}
	if kinds, sets := s.Remembers(); kinds > 1<<13 || sets > 1<<15 {
		t.Errorf("%d kinds and %d sets are remembered", kinds, sets)
	}
	for k, want := range map[int]profile.Bytes{0: 2, 1: 30, last: 2} {
		j := of(k)
		j.ID = "again"
		submit(t, s, j)
		if r, err := s.Why(j.ID); err != nil || (r.Memory < 3*profile.GiB) != (want == 2) {
			t.Errorf("kind %d reserves %v, %v; want some %d GiB", k, r.Memory, err, want)
		}
		ok(t, s.Withdraw(j.ID))
	}
}

// TestSchedulerForbidsAnIndex: what is forbidden is a GPU, not what takes its index later.
func TestSchedulerForbidsAnIndex(t *testing.T) {
	s := scheduler(t, 2, nil)
	submit(t, s, job("a", 2, 1, time.Hour))
	ok(t, s.Forbid("a", 1, 0, 1), s.RemoveGPU(1))
	if _, err := s.AddGPU(packer.GPU{ID: "new", Memory: 40 * profile.GiB}, 0); err != nil {
		t.Fatal(err)
	}
	if got := decided(t, s, 0); got != "a[1]" {
		t.Errorf("started %q", got)
	}
	if err := s.Forbid("a", 7); err == nil {
		t.Error("a GPU that is not there: no error")
	}
	if err := s.Forbid("b"); !errors.Is(err, online.ErrUnknown) {
		t.Errorf("an unknown task: %v", err)
	}
}

// TestSchedulerAdvance: what happened before a decision counts to when it happened.
func TestSchedulerAdvance(t *testing.T) {
	var means [2]time.Duration
	for k, advance := range []bool{true, false} {
		s := scheduler(t, 1, nil)
		submit(t, s, unknown("b", profile.Opt[time.Duration]{}))
		decided(t, s, 0)
		if advance {
			ok(t, s.Advance(time.Hour))
		}
		ok(t, s.Finish("b"))
		decided(t, s, 5*time.Hour)
		submit(t, s, unknown("b", profile.Opt[time.Duration]{}))
		decided(t, s, 5*time.Hour)
		means[k], _ = s.Forecast()
		if s.Advance(time.Hour) == nil || s.Advance(-1) == nil {
			t.Error("time runs backwards")
		}
	}
	if 2*means[0] > means[1] {
		t.Errorf("after one that ran for 1 h the next is forecast to run for %v, after 5 h %v", means[0], means[1])
	}
}

// profiled is a model that knows a task's pace by its profile alone.
type profiled struct{ pressing }

func (profiled) Pace(t *packer.Task, _ *packer.GPU) float64 {
	if t.Profile == nil {
		return 1
	}
	return 0.5
}

// TestSchedulerChangeOfProfile: what becomes known of one task of a kind is known of all.
func TestSchedulerChangeOfProfile(t *testing.T) {
	s, err := online.NewScheduler(cards(1), profiled{}, packer.Limits{MaxSet: 4}, nil)
	ok(t, err)
	a, b := job("a", 0, 1, time.Hour), job("b", 0, 1, time.Hour)
	a.Kind, b.Kind = "k", "k"
	submit(t, s, a, b)
	decided(t, s, 0)
	if _, last := s.Forecast(); last != time.Hour {
		t.Fatalf("the last ends in %v", last)
	}
	a.Profile = &profile.Profile{}
	ok(t, s.Change(a))
	decided(t, s, 0)
	if _, last := s.Forecast(); last != 2*time.Hour {
		t.Errorf("the last ends in %v, want twice as much", last)
	}
}
