package ledger_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

func TestLedgerLife(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{
		bare("a", 10*profile.GiB, sized("old", profile.GiB)), bare("b", 10*profile.GiB),
	}})
	lease := mustReserve(t, l, claim("a", "x/0", profile.GiB), claim("b", "x/1", profile.GiB), claim("b", "y", 8*profile.GiB))
	want := map[string][]string{"a": {"old", "x/0"}, "b": {"x/1", "y"}}
	if diff := cmp.Diff(want, held(l)); diff != "" {
		t.Errorf("after Reserve (-want +got):\n%s", diff)
	}
	if err := l.Commit(lease); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, held(l)); diff != "" {
		t.Errorf("after Commit (-want +got):\n%s", diff)
	}
	if err := l.Release("x/0", "x/1", "old", "y"); err != nil {
		t.Fatal(err)
	}
	if got := held(l); len(got) != 0 {
		t.Errorf("after Release %v are left", got)
	}
}

func TestConfigFaults(t *testing.T) {
	full := func(c ledger.Config) ledger.Config {
		if c.Now == nil {
			c.Now = newFakeClock().Now
		}
		return c
	}
	one := []colloc.GPU{bare("a", profile.GiB)}
	for _, tt := range []struct {
		name string
		c    ledger.Config
		want string
	}{
		{"no clock", ledger.Config{GPUs: one}, "Now is <nil>, want a clock such as time.Now"},
		{"headroom NaN", full(ledger.Config{Headroom: profile.Some(math.NaN())}), "Headroom is NaN"},
		{"headroom 1", full(ledger.Config{Headroom: profile.Some(1.0)}), "Headroom is 1"},
		{"negative set", full(ledger.Config{MaxSet: -1}), "MaxSet is -1"},
		{"large set", full(ledger.Config{MaxSet: 65}), "MaxSet is 65"},
		{"lease", full(ledger.Config{LeaseTime: -time.Second}), "LeaseTime is -1s"},
		{"start", full(ledger.Config{StartTime: math.MaxInt64}), "StartTime is"},
		{"overhead", full(ledger.Config{Overhead: profile.Some(profile.Bytes(-1))}), "Overhead is -1"},
		{"GPU twice", full(ledger.Config{GPUs: append(one, one...)}), `GPU "a": duplicate`},
		{"GPU without memory", full(ledger.Config{GPUs: []colloc.GPU{{ID: "a"}}}), "Memory is not known"},
		{"GPU without name", full(ledger.Config{GPUs: []colloc.GPU{{}}}), "ID is empty"},
		{"GPU too large", full(ledger.Config{GPUs: []colloc.GPU{bare("a", math.MaxInt64)}}), "want 0 to 65536 TiB"},
		{"resident without reservation", full(ledger.Config{GPUs: []colloc.GPU{bare("a", 1, sized("r", 0))}}), "Reserved is 0 B"},
		{"resident twice", full(ledger.Config{GPUs: []colloc.GPU{bare("a", 1, sized("r", 1)), bare("b", 1, sized("r", 1))}}), `GPU "a" and on GPU "b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "no clock" {
				tt.c.Now = nil
			}
			l, err := ledger.New(tt.c)
			if l != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got ledger %v, error %v; want an error with %q", l != nil, err, tt.want)
			}
		})
	}
}

// TestConfigMost: what is allowed ends with the bounds that the faults name.
func TestConfigMost(t *testing.T) {
	newLedger(t, ledger.Config{MaxSet: colloc.LargestSet, LeaseTime: ledger.MaxLeaseTime, StartTime: ledger.MaxLeaseTime, Headroom: profile.Some(0.0), Overhead: profile.Some(profile.Bytes(0))})
}

func TestReserveRefuses(t *testing.T) {
	gpus := []colloc.GPU{
		bare("a", 10*profile.GiB, sized("r", 4*profile.GiB)), bare("empty", 10*profile.GiB),
		bare("hermitage", 10*profile.GiB, hermit("h", 1)), bare("pair", 10*profile.GiB, sized("p", 1), sized("q", 1)),
		{ID: "single", Memory: 10 * profile.GiB, Mechanisms: []profile.Mechanism{profile.Exclusive}, Residents: []colloc.Task{sized("s", 1)}},
		bare("overfull", profile.GiB, sized("o", 3*profile.GiB)),
	}
	noProfile := claim("empty", "t", 0)
	noProfile.Task.Profile = nil
	for _, tt := range []struct {
		name   string
		claims []ledger.Claim
		is     error // nil: bad input
		code   packer.ReasonCode
		want   string
	}{
		{"nothing", nil, nil, 0, "no claims"},
		{"no reservation", []ledger.Claim{claim("empty", "t", 0)}, nil, 0, "Reserved is 0 B"},
		{"negative", []ledger.Claim{claim("empty", "t", -1)}, nil, 0, "Reserved is -1"},
		{"huge", []ledger.Claim{claim("empty", "t", math.MaxInt64)}, nil, 0, "to 65536 TiB"},
		{"no name", []ledger.Claim{claim("empty", "", 1)}, nil, 0, "ID is empty"},
		{"no profile", []ledger.Claim{noProfile}, nil, 0, "Profile is nil"},
		{"control character", []ledger.Claim{claim("empty", "t\n", 1)}, nil, 0, "control character"},
		{"GPU", []ledger.Claim{claim("empty", "t", 1), claim("nowhere", "u", 1)}, ledger.ErrUnknown, 0, `unknown: GPU "nowhere"`},
		{"in the books", []ledger.Claim{claim("empty", "t", 1), claim("empty", "r", 1)}, ledger.ErrDuplicate, 0, `"r" is on GPU "a" already`},
		{"twice in one call", []ledger.Claim{claim("empty", "t", 1), claim("a", "t", 1)}, ledger.ErrDuplicate, 0, `"t" is on GPU "empty" already`},
		{"memory", []ledger.Claim{claim("empty", "t", 1), claim("a", "u", 5*profile.GiB+1)}, ledger.ErrFull, packer.MemoryLimit, "needs 5 GiB, 5 GiB are free"},
		{"memory of the call", []ledger.Claim{claim("empty", "t", 5*profile.GiB), claim("empty", "u", 5*profile.GiB)}, ledger.ErrFull, packer.MemoryLimit, "4 GiB are free"},
		{"overfull", []ledger.Claim{claim("overfull", "t", 1)}, ledger.ErrFull, packer.MemoryLimit, "0 B are free"},
		{"resident alone", []ledger.Claim{claim("hermitage", "t", 1)}, ledger.ErrFull, packer.MustBeAlone, `"h"`},
		{"claim alone", []ledger.Claim{{GPU: "a", Task: hermit("t", 1)}}, ledger.ErrFull, packer.MustBeAlone, `"t"`},
		{"alone in the call", []ledger.Claim{{GPU: "empty", Task: hermit("t", 1)}, claim("empty", "u", 1)}, ledger.ErrFull, packer.MustBeAlone, `"t"`},
		{"set", []ledger.Claim{claim("pair", "t", 1)}, ledger.ErrFull, packer.SetFull, "as many tasks"},
		{"set of the call", []ledger.Claim{claim("empty", "t", 1), claim("empty", "u", 1), claim("empty", "v", 1)}, ledger.ErrFull, packer.SetFull, "as many tasks"},
		{"mechanism", []ledger.Claim{claim("single", "t", 1)}, ledger.ErrFull, packer.SetFull, "as many tasks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, _ := newLedger(t, ledger.Config{GPUs: gpus, MaxSet: 2})
			before := l.Snapshot()
			_, err := l.Reserve(before.Version, tt.claims...)
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || errors.Is(err, ledger.ErrConflict) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %v with %q", err, tt.is, tt.want)
			}
			var refused *ledger.RefusedError
			if errors.As(err, &refused) != (tt.code != 0) || refused != nil && refused.Code != tt.code {
				t.Errorf("got %+v, want code %v", refused, tt.code)
			}
			if diff := cmp.Diff(before, l.Snapshot(), cmp.Comparer(sameProfile)); diff != "" {
				t.Errorf("the refused call left a trace (-before +after):\n%s", diff)
			}
		})
	}
}

func sameProfile(a, b *profile.Profile) bool { return a == b }

// TestRefusedErrorNamesTheLimit: every reason has words.
func TestRefusedErrorNamesTheLimit(t *testing.T) {
	for code := packer.NoGPU; code <= packer.TooFewGPUs; code++ {
		text := (&ledger.RefusedError{Task: "x", GPU: "g", Code: code}).Error()
		if bare := (&ledger.RefusedError{Task: "x", GPU: "g", Code: -1}).Error(); !strings.HasPrefix(text, `ledger: reserve: task "x" on GPU "g": `) || text == bare || strings.HasSuffix(text, ": ") {
			t.Errorf("%v: %q", code, text)
		}
		if stale := (&ledger.RefusedError{Task: "x", GPU: "g", Code: code, Stale: true}).Error(); stale != text+"; the snapshot is out of date, take a new one and decide again" {
			t.Errorf("%v, with an old snapshot: %q", code, stale)
		}
	}
}

func TestReserveFromOldSnapshot(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(*ledger.Ledger)
		since  func(*ledger.Ledger)
		claim  ledger.Claim
		is     []error
		not    error
	}{
		{
			name:  "nothing happened",
			claim: claim("a", "t", profile.GiB),
		},
		{
			name:  "another GPU changed",
			since: func(l *ledger.Ledger) { mustCommit(t, l, claim("b", "other", profile.GiB)) },
			claim: claim("a", "t", profile.GiB),
		},
		{
			name:  "a task joined",
			since: func(l *ledger.Ledger) { mustReserve(t, l, claim("a", "other", 1)) },
			claim: claim("a", "t", profile.GiB), is: []error{ledger.ErrConflict}, not: ledger.ErrFull,
		},
		{
			name:  "a task joined and took the memory",
			since: func(l *ledger.Ledger) { mustReserve(t, l, claim("a", "other", 5*profile.GiB)) },
			claim: claim("a", "t", 5*profile.GiB), is: []error{ledger.ErrConflict, ledger.ErrFull},
		},
		{
			name:   "a task left",
			before: func(l *ledger.Ledger) { mustCommit(t, l, claim("a", "other", 5*profile.GiB)) },
			since: func(l *ledger.Ledger) {
				if err := l.Release("other"); err != nil {
					t.Fatal(err)
				}
			},
			claim: claim("a", "t", 5*profile.GiB),
		},
		{
			name: "a task joined and left",
			since: func(l *ledger.Ledger) {
				if err := l.Rollback(mustReserve(t, l, claim("a", "other", 5*profile.GiB))); err != nil {
					t.Fatal(err)
				}
			},
			claim: claim("a", "t", 5*profile.GiB),
		},
		{
			name: "foreign memory that leaves enough",
			since: func(l *ledger.Ledger) {
				l.Reconcile([]ledger.Usage{{GPU: "a", Processes: []ledger.Process{{PID: 1, Memory: profile.Some(profile.GiB)}}}})
			},
			claim: claim("a", "t", 5*profile.GiB),
		},
		{
			name: "foreign memory that leaves too little",
			since: func(l *ledger.Ledger) {
				l.Reconcile([]ledger.Usage{{GPU: "a", Processes: []ledger.Process{{PID: 1, Memory: profile.Some(5 * profile.GiB)}}}})
			},
			claim: claim("a", "t", 5*profile.GiB), is: []error{ledger.ErrConflict, ledger.ErrFull},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 10*profile.GiB), bare("b", 10*profile.GiB)}})
			if tt.before != nil {
				tt.before(l)
			}
			seen := l.Snapshot().Version
			if tt.since != nil {
				tt.since(l)
			}
			_, err := l.Reserve(seen, tt.claim)
			if (err == nil) != (len(tt.is) == 0) || tt.not != nil && errors.Is(err, tt.not) {
				t.Errorf("got error %v, want %v", err, tt.is)
			}
			for _, want := range tt.is {
				var refused *ledger.RefusedError
				if !errors.Is(err, want) || !errors.As(err, &refused) || refused.GPU != "a" {
					t.Errorf("got error %v, want %v on GPU a", err, want)
				}
			}
			if err != nil {
				mustReserve(t, l, claim("b", "retry", profile.GiB)) // a new look helps
			}
		})
	}
}

func TestReserveFromAnotherLedger(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", profile.GiB)}})
	if _, err := l.Reserve(ledger.Version{Epoch: l.Snapshot().Version.Epoch, Number: 7}, claim("a", "t", 1)); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
}
