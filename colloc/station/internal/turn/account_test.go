package turn

import (
	"fmt"
	"math"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
)

// TestAccounts: starts, the time that jobs waited for them, and runs that ended for want of
// memory count for their user alone; a clock that was set back takes nothing away.
func TestAccounts(t *testing.T) {
	turns := New((&clock{start}).read, Policy{HalfLife: time.Hour}, Kept{Accounts: map[uint32]*Account{3: nil}})
	turns.Began(1, 90*time.Second)
	turns.Began(1, -time.Hour)
	turns.Began(2, 0)
	turns.Lacked(2)
	turns.Lacked(2)
	turns.Overran(1)
	all := turns.Accounts()
	for uid, want := range map[uint32]Account{1: {Started: 2, Wait: 90, Overruns: 1}, 2: {Started: 1, OutOfMemory: 2}, 3: {}} {
		if got := all[uid]; got.Started != want.Started || got.Wait != want.Wait || got.OutOfMemory != want.OutOfMemory || got.Overruns != want.Overruns {
			t.Errorf("user %d: %+v, want %+v", uid, got, want)
		}
	}
	if len(all) != 2 {
		t.Errorf("%d users have accounts, want 2", len(all))
	}
}

// TestKeptStays: what was asked for does not change with what comes later.
func TestKeptStays(t *testing.T) {
	c := &clock{start}
	turns := New(c.read, Policy{HalfLife: time.Hour, Window: time.Hour}, Kept{})
	charge := func() {
		c.now = c.now.Add(time.Second)
		turns.Charge(c.now, map[nvmlx.DeviceID][]Tenant{"GPU-0": {{UID: 1}}})
	}
	charge()
	charge()
	kept, all := turns.Keep(), turns.Accounts()
	charge()
	turns.Lacked(1)
	turns.Lacked(2)
	for name, a := range map[string]Account{"kept": *kept.Accounts[1], "told": all[1]} {
		if a.OutOfMemory != 0 || len(a.Hours) != 1 || a.Hours[hourOf(start)] != 1 {
			t.Errorf("what was %s is %+v, want what was then", name, a)
		}
	}
	if len(kept.Accounts) != 1 {
		t.Errorf("%d accounts were kept, want 1", len(kept.Accounts))
	}
}

// TestChargedSince: a job is charged from its start on, one whose start lies ahead for no time.
func TestChargedSince(t *testing.T) {
	c := &clock{start}
	turns := New(c.read, Policy{HalfLife: time.Hour}, Kept{})
	turns.Charge(c.now, nil)
	c.now = c.now.Add(100 * time.Second)
	turns.Charge(c.now, map[nvmlx.DeviceID][]Tenant{
		"GPU-0": {{UID: 1, Speed: 1, Since: c.now.Add(-40 * time.Second)}},
		"GPU-1": {{UID: 2, Speed: 1, Since: c.now.Add(time.Minute)}},
	})
	for uid, want := range map[uint32]float64{1: 40, 2: 0} {
		if got := turns.Accounts()[uid].GPU; got != want {
			t.Errorf("user %d had %v GPU seconds, want %v", uid, got, want)
		}
	}
}

// TestRunsCountAsTheMean: each job that runs weighs as much as runs took of late, whatever
// GPU time its user had: of two users with as much of it waits whose job runs.
func TestRunsCountAsTheMean(t *testing.T) {
	for _, tt := range []struct {
		name string
		took []time.Duration // by runs that are over
		gpus int             // of each
		had  time.Duration   // of user 2, when a job of user 1 runs
		want string          // the order of a job of each
	}{
		{"no run is over: a second", nil, 1, 1100 * time.Millisecond, "[0 1]"},
		{"no run is over: a second", nil, 1, 900 * time.Millisecond, "[1 0]"},
		{"a minute", []time.Duration{time.Minute, time.Minute}, 1, 59 * time.Second, "[1 0]"},
		{"a minute", []time.Duration{time.Minute, time.Minute}, 1, 61 * time.Second, "[0 1]"},
		{"two GPUs for half a minute", []time.Duration{30 * time.Second}, 2, 59 * time.Second, "[1 0]"},
		{"two GPUs for half a minute", []time.Duration{30 * time.Second}, 2, 61 * time.Second, "[0 1]"},
		{"one and two minutes", []time.Duration{time.Minute, 2 * time.Minute}, 1, 89 * time.Second, "[1 0]"},
		{"one and two minutes", []time.Duration{time.Minute, 2 * time.Minute}, 1, 91 * time.Second, "[0 1]"},
		{"short ones", []time.Duration{10 * time.Millisecond}, 1, 9 * time.Millisecond, "[1 0]"},
		{"short ones", []time.Duration{10 * time.Millisecond}, 1, 11 * time.Millisecond, "[0 1]"},
		{"one that ended before it began counts for nothing", []time.Duration{time.Minute, -time.Hour, 0}, 1, 59 * time.Second, "[1 0]"},
		{"one that ended before it began counts for nothing", []time.Duration{time.Minute, -time.Hour, 0}, 1, 61 * time.Second, "[0 1]"},
	} {
		c := &clock{start}
		turns := New(c.read, Policy{HalfLife: 1e6 * time.Hour}, Kept{})
		turns.Charge(c.now, nil)
		c.now = c.now.Add(tt.had)
		turns.Charge(c.now, map[nvmlx.DeviceID][]Tenant{"GPU-0": {{UID: 2, Speed: 1}}})
		for _, took := range tt.took {
			turns.Ran(&queue.Record{Task: queue.Task{GPUs: tt.gpus}, Started: start, Ended: start.Add(took)})
		}
		ready, active := jobs(jobs(nil, 1, 1, 0, 1), 1, 2, 0, 1), jobs(nil, 1, 1, 0, 1)
		if got := fmt.Sprint(turns.Foresee(ready, active)); got != tt.want {
			t.Errorf("%s, and user 2 had %v: order %s, want %s", tt.name, tt.had, got, tt.want)
		}
		if _, why := turns.Allow(ready[0]); why != "" {
			t.Errorf("who only looks ahead keeps a job from starting: %s", why)
		}
	}
}

// TestMeanForgets: the mean is about the last runs; what was long ago counts less and less.
func TestMeanForgets(t *testing.T) {
	turns := New((&clock{start}).read, Policy{HalfLife: time.Hour}, Kept{})
	run := func(took time.Duration, times int) float64 {
		for range times {
			turns.Ran(&queue.Record{Started: start, Ended: start.Add(took)})
		}
		return turns.Keep().Mean
	}
	if mean := run(time.Hour, 1000); math.Abs(mean-3600) > 1e-6 {
		t.Errorf("of runs of an hour the mean is %v s", mean)
	}
	if mean := run(time.Minute, 100); mean < 60 || mean > 120 {
		t.Errorf("after 100 runs of a minute the mean is %v s", mean)
	}
}
