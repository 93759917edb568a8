package station

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/internal/pace"
	"example.com/colloc/colloc/station/internal/turn"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// The next in the order start when jobs whose end is known are over; what is held, what
// waits for others and what comes later has no time.
func TestForetell(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	runs := func(id string, left int64) runner.Record {
		return runner.Record{Task: runner.Task{ID: id}, State: runner.Running, Step: profile.Some(int64(10)), Total: profile.Some(10 + left), StepTime: profile.Some(time.Second)}
	}
	unknown := runs("3", 5)
	unknown.Total = profile.Opt[int64]{}
	waits := func(id string, change func(*runner.Task)) runner.Record {
		r := runner.Record{Task: runner.Task{ID: id}, State: runner.Queued}
		if change != nil {
			change(&r.Task)
		}
		return r
	}
	records := []runner.Record{
		runs("1", 60), runs("2", 30), unknown,
		waits("4", func(t *runner.Task) { t.Held = true }),
		waits("5", func(t *runner.Task) { t.After = []runner.Dependency{{Task: "1"}} }),
		waits("6", nil),
		waits("7", func(t *runner.Task) { t.Priority = 1 }),
		waits("8", nil),
	}
	s := &Station{paces: pace.NewBook(), turns: turn.New(func() time.Time { return now }, turn.Policy{}, turn.Kept{})}
	v := &viewer{s: s, now: now}
	v.foretell(records)
	want := map[string]time.Time{"7": now.Add(30 * time.Second), "6": now.Add(time.Minute)}
	if diff := cmp.Diff(want, v.starts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.turns.Drain(true)
	v.starts = nil
	if v.foretell(records); v.starts != nil {
		t.Errorf("while it drains: %v", v.starts)
	}
}

// The end of a job lets none start that must not have its GPU, or that must not start at all.
func TestForetellClosed(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	runs := func(gpu nvmlx.DeviceID, left int64) runner.Record {
		return runner.Record{Task: runner.Task{ID: string(gpu)}, State: runner.Running, GPU: gpu, Step: profile.Some(int64(10)), Total: profile.Some(10 + left), StepTime: profile.Some(time.Second)}
	}
	waits := func(id string, uid uint32) runner.Record {
		return runner.Record{Task: runner.Task{ID: id, Owner: &runner.Owner{UID: uid}}, State: runner.Queued}
	}
	policy := turn.Policy{Quota: time.Hour, Window: 24 * time.Hour}
	spent := turn.Kept{Accounts: map[uint32]*turn.Account{7: {Hours: map[int64]float64{now.Unix() / 3600: 4000}}}}
	s := &Station{paces: pace.NewBook(), turns: turn.New(func() time.Time { return now }, policy, spent)}
	s.turns.Close(&turn.Closing{}, "drained")
	s.turns.Close(&turn.Closing{Reserved: true, UID: 5, Until: now.Add(time.Hour)}, "reserved")
	v := &viewer{s: s, now: now}
	v.foretell([]runner.Record{runs("drained", 10), runs("reserved", 20), runs("open", 30), waits("over quota", 7), waits("first", 6), waits("second", 6), waits("whose it is", 5)})
	want := map[string]time.Time{"first": now.Add(30 * time.Second), "whose it is": now.Add(20 * time.Second)}
	if diff := cmp.Diff(want, v.starts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of two users the one whose jobs hold no GPU is expected to start first.
func TestForetellFair(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	of := func(id string, uid uint32, state runner.State) runner.Record {
		return runner.Record{Task: runner.Task{ID: id, Owner: &runner.Owner{UID: uid}}, State: state}
	}
	runs := of("1", 6, runner.Running)
	runs.Step, runs.Total, runs.StepTime = profile.Some(int64(1)), profile.Some(int64(31)), profile.Some(time.Second)
	v := &viewer{s: &Station{paces: pace.NewBook(), turns: turn.New(func() time.Time { return now }, turn.Policy{}, turn.Kept{})}, now: now}
	v.foretell([]runner.Record{runs, of("2", 6, runner.Queued), of("3", 7, runner.Queued)})
	if diff := cmp.Diff(map[string]time.Time{"3": now.Add(30 * time.Second)}, v.starts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
