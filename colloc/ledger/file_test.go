package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

func savedBooks(tb testing.TB, l *ledger.Ledger) string {
	tb.Helper()
	var file bytes.Buffer
	if err := l.Save(&file); err != nil {
		tb.Fatal(err)
	}
	return file.String()
}

func TestLoad(t *testing.T) {
	c := ledger.Config{
		GPUs:   []colloc.GPU{bare("a", 20*profile.GiB, sized("old", profile.GiB)), bare("b", 20*profile.GiB)},
		MaxSet: 8, LeaseTime: 10 * time.Second,
	}
	l, clock := newLedger(t, c)
	picky := claim("b", "picky", 3*profile.GiB)
	picky.Task.Weight, picky.Task.MaxSlowdown = 2, 1.5
	if err := picky.Task.Profile.Vector.Set(profile.BatchSize, 32); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, l, claim("a", "x", profile.GiB), picky)
	l.Reconcile([]ledger.Usage{
		{GPU: "a", Processes: []ledger.Process{process(1, "", 4)}},
		{GPU: "b", Processes: []ledger.Process{process(1, "picky", 5)}},
	})
	open := mustReserve(t, l, claim("a", "y", profile.GiB))
	clock.Step(4 * time.Second)
	file := savedBooks(t, l)
	if again := savedBooks(t, l); again != file {
		t.Errorf("the same books give other bytes:\n%s\n%s", file, again)
	}
	lost := mustReserve(t, l, claim("b", "lost", profile.GiB)) // after Save

	c.Now = clock.Now
	c.GPUs[1].Residents = []colloc.Task{sized("found", 1)} // c has it, the file has not
	loaded, err := ledger.Load(strings.NewReader(file), c)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"a": {"old", "x", "y"}, "b": {"picky", "found"}}
	if diff := cmp.Diff(want, held(loaded)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := loaded.Snapshot().GPUs[1].Residents[0]
	if got.Reserved != 5*profile.GiB || got.Weight != 2 || got.MaxSlowdown != 1.5 || got.Profile.Vector.Or(profile.BatchSize, 0) != 32 {
		t.Errorf("task is %+v", got)
	}
	checkFree(t, loaded, 11*profile.GiB) // 18 less 3 reserved and 4 foreign
	if err := loaded.Commit(lost); !errors.Is(err, ledger.ErrLeaseOver) {
		t.Errorf("a lease made after Save: got %v, want ErrLeaseOver", err)
	}
	if _, err := loaded.Reserve(l.Snapshot().Version, claim("b", "z", 1)); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("a snapshot from before: got %v, want ErrConflict", err)
	}
	clock.Step(6*time.Second - 1)
	if got := loaded.Expire(); len(got) != 0 {
		t.Errorf("expired early: %v", got)
	}
	clock.Step(1)
	if got := loaded.Expire(); len(got) != 1 || got[0].Lease != open.Number {
		t.Errorf("got %v, want the lapse of lease %d", got, open.Number)
	}
}

func TestLoadFaults(t *testing.T) {
	const task = `{"id":"t","gpu":"a","reserved_bytes":1,"profile":{}}`
	books := func(leases string) string {
		return fmt.Sprintf(`{"format":2,"epoch":"00000000000000aa","issued":2,"gpus":[],"leases":[%s]}`, leases)
	}
	for _, tt := range []struct {
		name, file, want string
	}{
		{"nothing", ``, "EOF"},
		{"format", `{"format":5}`, "format is 5, want 1 to 4"},
		{"no format", `{}`, "format is 0, want 1 to 4"},
		{"null lease", books(`null`), "lease 0 of the file is null"},
		{"number 0", books(`{"epoch":"aa","number":0,"tasks":[` + task + `]}`), "want a number from 1"},
		{"number not issued", books(`{"epoch":"aa","number":1152921504606846976,"tasks":[` + task + `]}`), "want a number from 1 to 2"},
		{"number twice", books(`{"number":1,"tasks":[` + task + `]},{"number":1,"tasks":[{}]}`), "duplicate number"},
		{"task twice", books(`{"number":1,"tasks":[` + task + `,` + task + `]}`), `duplicate task "t"`},
		{"no tasks", books(`{"number":1}`), "no tasks"},
		{"unknown GPU", books(`{"number":1,"tasks":[` + strings.Replace(task, `"a"`, `"z"`, 1) + `]}`), `unknown GPU "z"`},
		{"no reservation", books(`{"number":1,"tasks":[{"id":"t","gpu":"a"}]}`), "Profile is nil"},
		{"negative use", books(`{"number":1,"tasks":[` + strings.Replace(task, `{`, `{"used_bytes":-1,`, 1) + `]}`), "bytes: -1"},
		{"absurd use", books(`{"number":1,"tasks":[` + strings.Replace(task, `{`, `{"used_bytes":"7000000 TiB",`, 1) + `]}`), "are in use, want at most"},
		{"elsewhere", books(`{"number":1,"tasks":[{"id":"r","gpu":"a","reserved_bytes":1,"profile":{}}]}`), `runs on GPU "b", the books have it on GPU "a"`},
		{"not issued in format 1", `{"format":1,"issued":2,"leases":[{"number":3,"tasks":[` + task + `]}]}`, "want a number from 1 to 2"},
		{"epoch", `{"format":2,"epoch":"moon"}`, "epoch \"moon\": want 16 hexadecimal digits"},
		{"negative foreign", `{"format":1,"gpus":[{"id":"a","foreign_bytes":-5}]}`, "bytes: -5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ledger.Load(strings.NewReader(tt.file), ledger.Config{
				GPUs: []colloc.GPU{bare("a", profile.GiB), bare("b", profile.GiB, sized("r", 1))}, Now: newFakeClock().Now,
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestSaveFails(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{})
	if err := l.Save(failingWriter{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v", err)
	}
}

// What loads can be saved and loads again, and grants nothing that is not there.
func FuzzLoad(f *testing.F) {
	l, _ := newLedger(f, ledger.Config{GPUs: []colloc.GPU{bare("a", 100, sized("r", 1))}, MaxSet: 8})
	f.Add([]byte(savedBooks(f, l)))
	mustReserve(f, l, claim("a", "open", 2))
	mustCommit(f, l, claim("a", "t", 3))
	l.Reconcile([]ledger.Usage{{GPU: "a", Processes: []ledger.Process{{Memory: profile.Some(profile.Bytes(9))}}}})
	f.Add([]byte(savedBooks(f, l)))
	f.Add([]byte(booksFormat1))
	f.Fuzz(func(t *testing.T, file []byte) {
		c := ledger.Config{GPUs: []colloc.GPU{bare("a", 100)}, MaxSet: 8, Now: newFakeClock().Now}
		l, err := ledger.Load(bytes.NewReader(file), c)
		if err != nil {
			return
		}
		s := l.Snapshot()
		var sum profile.Bytes
		for _, r := range s.GPUs[0].Residents {
			sum += min(r.Reserved, 1000)
		}
		if _, err := l.Reserve(s.Version, claim("a", "one more", max(1, 91-sum))); err == nil {
			t.Errorf("granted 91 bytes of 90, %v are taken", sum)
		}
		if _, err := ledger.Load(strings.NewReader(savedBooks(t, l)), c); err != nil {
			t.Errorf("what was loaded does not load again: %v", err)
		}
	})
}
