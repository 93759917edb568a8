package online_test

import (
	"errors"
	"testing"
	"time"

	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// TestErrorsTold: callers tell a task that is not there from one that is there already.
func TestErrorsTold(t *testing.T) {
	s := scheduler(t, 1, nil)
	there := job("a", 0, 1, time.Hour)
	submit(t, s, there)
	_, why := s.Why("b")
	for name, c := range map[string]struct{ err, want error }{
		"submit":     {s.Submit(there), online.ErrDuplicate},
		"adopt":      {s.Adopt(there, 0), online.ErrDuplicate},
		"change":     {s.Change(job("b", 0, 1, time.Hour)), online.ErrUnknown},
		"finish":     {s.Finish("b"), online.ErrUnknown},
		"withdraw":   {s.Withdraw("b"), online.ErrUnknown},
		"return":     {s.Return("b"), online.ErrUnknown},
		"resume":     {s.Resume("b", 0), online.ErrUnknown},
		"hold":       {s.Hold("b"), online.ErrUnknown},
		"release":    {s.Release("b"), online.ErrUnknown},
		"forbid":     {s.Forbid("b", 0), online.ErrUnknown},
		"tier":       {s.Tier("b", 1), online.ErrUnknown},
		"report":     {s.Report("b", time.Hour), online.ErrUnknown},
		"report end": {s.ReportEnd("b", time.Hour), online.ErrUnknown},
		"seen":       {s.Seen("b", profile.GiB), online.ErrUnknown},
		"reserve":    {s.Reserve("b", profile.GiB), online.ErrUnknown},
		"why":        {why, online.ErrUnknown},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v; want %v", name, c.err, c.want)
		}
	}
}

// TestSchedulerTimes: no time is negative and none runs backwards; what is refused changes
// nothing.
func TestSchedulerTimes(t *testing.T) {
	s := scheduler(t, 1, nil)
	refuse := func(name string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	refuse("negative Left", s.Submit(job("a", 0, 1, -time.Hour)))
	_, err := s.Decide(t.Context(), -time.Hour)
	refuse("negative time", err)
	submit(t, s, job("a", 0, 1, time.Hour)) // it was not taken in before
	if got := decided(t, s, time.Hour); got == "" {
		t.Error("nothing starts")
	}
	_, err = s.Decide(t.Context(), time.Minute)
	refuse("backwards", err)
	refuse("negative report", s.Report("a", -time.Hour))
	if _, err := s.Decide(t.Context(), time.Hour); err != nil {
		t.Error("the same time again:", err)
	}
	if err := s.Report("a", 0); err != nil {
		t.Error("nothing left:", err)
	}
}

// TestSchedulerZero: one that NewScheduler did not make says so.
func TestSchedulerZero(t *testing.T) {
	var s online.Scheduler
	if _, err := s.Decide(t.Context(), 0); err == nil {
		t.Error("Decide: no error")
	}
	if err := s.Submit(job("a", 0, 1, time.Hour)); err == nil {
		t.Error("Submit: no error")
	}
}
