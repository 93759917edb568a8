package fleet

import (
	"testing"
	"time"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

func TestLacked(t *testing.T) {
	const full = 40 * profile.GiB
	tests := []struct {
		name    string
		o       supervise.Outcome
		line    string
		vague   bool
		highest profile.Bytes
		stop    backlog.Stop
		want    string
	}{
		{"success", supervise.Outcome{}, "CUDA out of memory", false, full, 0, ""},
		{"output", supervise.Outcome{Exit: 1}, "CUDA out of memory", false, 0, 0, "its output says so: CUDA out of memory"},
		{"killed", supervise.Outcome{Exit: -1, Signal: 9}, "", false, full, 0, ""},
		{"killed child", supervise.Outcome{Exit: 137}, "", false, full, 0, ""},
		{"killed after it said so", supervise.Outcome{Exit: 137}, "CUDA out of memory", false, 0, 0, "its output says so: CUDA out of memory"},
		{"killed after any failure of CUDA", supervise.Outcome{Exit: -1, Signal: 9}, "CUDA error: x", true, full, 0, ""},
		{"killed on request", supervise.Outcome{Exit: -1, Signal: 9}, "", false, full, backlog.StopKilled, ""},
		{"any failure", supervise.Outcome{Exit: 1}, "", false, full, 0, ""},
		{"CUDA, full GPU", supervise.Outcome{Exit: 1}, "CUDA error: x", true, full, 0, "the GPU's memory was full, 40 GiB of 40 GiB: CUDA error: x"},
		{"CUDA, room", supervise.Outcome{Exit: 1}, "CUDA error: x", true, 30 * profile.GiB, 0, ""},
		{"crash, full GPU", supervise.Outcome{Exit: -1, Signal: 6}, "", false, full, 0, "the GPU's memory was full, 40 GiB of 40 GiB: ended by signal 6 (aborted)"},
		{"not started", supervise.Outcome{Exit: -1, Err: "no such file", Final: true}, "", false, full, 0, ""},
		{"lost", supervise.Outcome{Exit: -1, Lost: true}, "CUDA out of memory", false, full, 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &Card{Highest: profile.Some(test.highest)}
			c.Info.ID, c.Info.Memory = "a", profile.Some(full)
			e := &backlog.Entry{Saved: backlog.Saved{Record: queue.Record{GPU: "a"}, Stop: test.stop}}
			f := &Fleet{Cards: []*Card{c}}
			if got := f.Lacked(e, &test.o, test.line, test.vague); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestLearn: the Planner is told what a task was seen to need, or that what it had was not
// enough; of a task of which there is no description, or that held nothing, it is told nothing.
func TestLearn(t *testing.T) {
	described := new(profile.Profile)
	for _, tt := range []struct {
		name   string
		peak   profile.Opt[profile.Bytes]
		p      *profile.Profile
		lacked bool
		want   profile.Bytes // 0 is nothing
	}{
		{"seen", profile.Some(3 * gib), described, false, 3 * gib},
		{"seen, and not enough", profile.Some(3 * gib), described, true, 3 * gib},
		{"not seen, and not enough", profile.Opt[profile.Bytes]{}, described, true, 8 * gib},
		{"not seen", profile.Opt[profile.Bytes]{}, described, false, 0},
		{"held nothing", profile.Some[profile.Bytes](0), described, false, 0},
		{"not described", profile.Some(3 * gib), nil, false, 0},
	} {
		c := card("g", 40*gib)
		f := fleetOf(t, Config{}, c)
		e := f.run(t, task("a", 8*gib, 0), c)
		e.Peak, e.Profile = tt.peak, tt.p
		if err := f.Learn(e, tt.lacked); err != nil {
			t.Fatal(err)
		}
		p, ok := f.planner.(*byMemory)
		if !ok {
			t.Fatalf("the planner is a %T", f.planner)
		}
		if (len(p.observed) == 1) != (tt.want > 0) || tt.want > 0 && (p.observed[0].Members[0].Peak != profile.Some(tt.want) || p.observed[0].Members[0].OutOfMemory != tt.lacked) {
			t.Errorf("%s: told %+v, want %v", tt.name, p.observed, tt.want)
		}
	}
}

// TestRecover: a task that ran out of memory gets half as much again, then runs alone, and after
// that nothing is left.
func TestRecover(t *testing.T) {
	c := card("g", 40*gib)
	f := fleetOf(t, Config{}, c)
	e := f.run(t, task("a", 8*gib, 0), c)
	e.Mechanism = profile.MPS
	for _, want := range []queue.Recovery{queue.ReservedMore, queue.RanAlone} {
		if !f.Recover(e) || e.Recovery != want {
			t.Errorf("%v, want %v", e.Recovery, want)
		}
	}
	if e.Raised != 12*gib || f.Recover(e) {
		t.Errorf("it reserves %v, and is to go on; want 12 GiB, and no more", e.Raised)
	}
}

// TestFollow: a reservation follows a peak down once that stood for long enough, if that is
// wanted, and up at once; its record tells.
func TestFollow(t *testing.T) {
	const long = time.Minute
	begun := time.Unix(1e9, 0)
	for _, tt := range []struct {
		name   string
		steady time.Duration
		peak   profile.Bytes
		lasted time.Duration
		want   profile.Bytes
	}{
		{"it stood for long enough", long, 10 * gib, long, profile.BytesOf(10.5 * float64(gib))},
		{"not yet", long, 10 * gib, long - 1, 20 * gib},
		{"never down", 0, 10 * gib, 1000 * long, 20 * gib},
		{"up at once", 0, 30 * gib, 0, profile.BytesOf(31.5 * float64(gib))},
		{"up, but there is no room", 0, 39 * gib, 0, 20 * gib},
	} {
		c := card("g", 40*gib)
		f := fleetOf(t, Config{Steady: tt.steady}, c)
		e := f.run(t, task("a", 20*gib, 0), c)
		e.Task.Memory, e.Profile = 0, newProfile(t) // it was predicted
		e.Peak = profile.Some(tt.peak)
		f.Follow(c, begun)
		changed := f.Follow(c, begun.Add(tt.lasted))
		if e.Reserved != tt.want || len(changed) > 1 {
			t.Errorf("%s: it reserves %v, want %v", tt.name, e.Reserved, tt.want)
		}
	}
}
