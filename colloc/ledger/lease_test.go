package ledger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

func TestLeaseStates(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []string
		want  []error
		left  int
	}{
		{"commit twice", []string{"commit", "commit"}, []error{nil, nil}, 1},
		{"rollback twice", []string{"rollback", "rollback"}, []error{nil, nil}, 0},
		{"commit after rollback", []string{"rollback", "commit"}, []error{nil, ledger.ErrLeaseOver}, 0},
		{"rollback after commit", []string{"commit", "rollback"}, []error{nil, ledger.ErrCommitted}, 1},
		{"release before commit", []string{"release", "commit"}, []error{ledger.ErrNotCommitted, nil}, 1},
		{"release twice", []string{"commit", "release", "release"}, []error{nil, nil, ledger.ErrUnknown}, 0},
		{"commit after release", []string{"commit", "release", "commit"}, []error{nil, nil, ledger.ErrLeaseOver}, 0},
		{"rollback after release", []string{"commit", "release", "rollback"}, []error{nil, nil, nil}, 0},
		{"commit too late", []string{"wait", "commit"}, []error{nil, ledger.ErrLeaseOver}, 0},
		{"rollback too late", []string{"wait", "rollback"}, []error{nil, nil}, 0},
		{"release too late", []string{"wait", "release"}, []error{nil, ledger.ErrUnknown}, 0},
		{"committed in time", []string{"commit", "wait"}, []error{nil, nil}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, clock := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", profile.GiB)}, LeaseTime: time.Second})
			lease := mustReserve(t, l, claim("a", "t", 1))
			for i, step := range tt.steps {
				var err error
				switch step {
				case "commit":
					err = l.Commit(lease)
				case "rollback":
					err = l.Rollback(lease)
				case "release":
					err = l.Release("t")
				case "wait":
					clock.Step(time.Second)
				}
				if !errors.Is(err, tt.want[i]) {
					t.Errorf("step %d, %s: got %v, want %v", i, step, err, tt.want[i])
				}
			}
			if got := len(held(l)["a"]); got != tt.left {
				t.Errorf("%d tasks are left, want %d", got, tt.left)
			}
		})
	}
}

func TestLeaseUnknown(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", profile.GiB)}})
	for _, number := range []uint64{0, 1, 1 << 63} {
		lease := ledger.Lease{Epoch: l.Snapshot().Version.Epoch, Number: number}
		if err := l.Commit(lease); !errors.Is(err, ledger.ErrUnknown) {
			t.Errorf("commit %d: got %v, want ErrUnknown", number, err)
		}
		if err := l.Rollback(lease); !errors.Is(err, ledger.ErrUnknown) {
			t.Errorf("rollback %d: got %v, want ErrUnknown", number, err)
		}
	}
}

// A scheduler that comes late with an old lease cannot commit or give back what
// another reserved for the same task since.
func TestLeaseFences(t *testing.T) {
	l, clock := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", profile.GiB)}, LeaseTime: time.Second})
	late := mustReserve(t, l, claim("a", "t", 1))
	clock.Step(time.Second)
	current := mustReserve(t, l, claim("a", "t", 1))
	if err := l.Rollback(late); err != nil {
		t.Error(err)
	}
	if err := l.Commit(late); !errors.Is(err, ledger.ErrLeaseOver) {
		t.Errorf("got %v, want ErrLeaseOver", err)
	}
	if err := l.Commit(current); err != nil {
		t.Error(err)
	}
}

func TestReleaseAllOrNothing(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", profile.GiB, sized("r", 1))}})
	mustReserve(t, l, claim("a", "open", 1))
	for _, tasks := range [][]string{{"r", "nobody"}, {"r", "open"}} {
		if err := l.Release(tasks...); err == nil {
			t.Errorf("released %v", tasks)
		}
	}
	want := map[string][]string{"a": {"r", "open"}}
	if diff := cmp.Diff(want, held(l)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := l.Release("r", "r"); err != nil {
		t.Errorf("the same task twice: %v", err)
	}
}

// A lease falls back at its time, not a nanosecond before it, and all of it.
func TestExpire(t *testing.T) {
	l, clock := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", profile.GiB)}, MaxSet: 8, LeaseTime: time.Second})
	first := mustReserve(t, l, claim("a", "t", 1), claim("a", "u", 2))
	clock.Step(time.Second / 2)
	if want := clock.Now().Add(time.Second / 2); !first.Expires.Equal(want) {
		t.Errorf("lease expires at %v, want %v", first.Expires, want)
	}
	mustReserve(t, l, claim("a", "v", 1))
	mustCommit(t, l, claim("a", "w", 1))
	for _, step := range []struct {
		by   time.Duration
		left []string
	}{{0, []string{"t", "u", "v", "w"}}, {time.Second/2 - 1, []string{"t", "u", "v", "w"}}, {1, []string{"v", "w"}}, {time.Second/2 - 1, []string{"v", "w"}}, {1, []string{"w"}}} {
		clock.Step(step.by)
		if diff := cmp.Diff(step.left, held(l)["a"]); diff != "" {
			t.Errorf("after %v more (-want +got):\n%s", step.by, diff)
		}
	}
}

// A clock that is set back neither extends a lease nor brings one back.
func TestClockBackwards(t *testing.T) {
	for _, leap := range []time.Duration{time.Millisecond, time.Hour, 200 * 365 * 24 * time.Hour} {
		t.Run(leap.String(), func(t *testing.T) {
			l, clock := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", profile.GiB)}, MaxSet: 8, LeaseTime: time.Second})
			over := mustReserve(t, l, claim("a", "over", 1))
			clock.Step(time.Second)
			if got := len(held(l)["a"]); got != 0 {
				t.Fatalf("%d tasks are left after the lease time", got)
			}
			open := mustReserve(t, l, claim("a", "open", 1))
			clock.Step(time.Second / 2)
			l.Snapshot()
			clock.Step(-leap)
			if err := l.Commit(over); !errors.Is(err, ledger.ErrLeaseOver) {
				t.Errorf("a lease came back: %v", err)
			}
			if got := len(held(l)["a"]); got != 1 {
				t.Errorf("%d tasks are left, want 1: half the time is left", got)
			}
			clock.Step(time.Second / 2)
			if err := l.Commit(open); !errors.Is(err, ledger.ErrLeaseOver) {
				t.Errorf("a lease was extended: %v", err)
			}
		})
	}
}

// A clock that leaps to and fro for long does not exhaust the stopwatch.
func TestClockErratic(t *testing.T) {
	l, clock := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", profile.GiB)}, LeaseTime: ledger.MaxLeaseTime})
	for i := range 10_000 {
		lease := mustReserve(t, l, claim("a", "t", 1))
		clock.Step(250 * 365 * 24 * time.Hour)
		if err := l.Commit(lease); !errors.Is(err, ledger.ErrLeaseOver) {
			t.Fatalf("round %d: got %v, want ErrLeaseOver", i, err)
		}
		clock.Step(-250 * 365 * 24 * time.Hour)
	}
}
