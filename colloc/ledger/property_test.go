package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

// ledgerMachine drives a Ledger and its slow twin through the same calls.
type ledgerMachine struct {
	config ledger.Config
	fast   *ledger.Ledger
	slow   *slowBooks
	clock  *fakeClock
	leases []twinLease
}

// twinLease is a lease under its names in the Ledger and in the twin.
type twinLease struct {
	ledger.Lease
	slow uint64
}

// version is the Ledger's for a version of the twin.
func (m *ledgerMachine) version(slow uint64) ledger.Version {
	return ledger.Version{Epoch: m.fast.Snapshot().Version.Epoch, Number: slow}
}

func newLedgerMachine(t *rapid.T) *ledgerMachine {
	m := &ledgerMachine{clock: newFakeClock()}
	m.config = ledger.Config{
		GPUs: []colloc.GPU{bare("a", 20), bare("b", 20), bare("c", 40)}, MaxSet: 3, LeaseTime: 10 * time.Second, Now: m.clock.Now,
	}
	fast, err := ledger.New(m.config)
	if err != nil {
		t.Fatal(err)
	}
	m.fast, m.slow = fast, newSlowBooks(m.config)
	return m
}

// ledgerOutcome puts an error into the twin's words.
func ledgerOutcome(err error) string {
	var words []string
	for _, w := range []struct {
		err  error
		word string
	}{
		{ledger.ErrDuplicate, "duplicate"},
		{ledger.ErrFull, "full"},
		{ledger.ErrConflict, "conflict"},
		{ledger.ErrUnknown, "unknown"},
		{ledger.ErrLeaseOver, "over"},
		{ledger.ErrCommitted, "committed"},
		{ledger.ErrNotCommitted, "open"},
	} {
		if errors.Is(err, w.err) {
			words = append(words, w.word)
		}
	}
	if err != nil && len(words) == 0 {
		return err.Error()
	}
	return strings.Join(words, ", ")
}

func (m *ledgerMachine) compare(t *rapid.T, what string, err error, want string) {
	if got := ledgerOutcome(err); got != want {
		t.Fatalf("%s: got %q (%v), want %q", what, got, err, want)
	}
}

func drawTask(t *rapid.T) string { return fmt.Sprintf("t%d", rapid.IntRange(0, 11).Draw(t, "task")) }

func drawGPU(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "gpu") }

func (m *ledgerMachine) reserve(t *rapid.T) {
	claims := make([]ledger.Claim, rapid.IntRange(1, 3).Draw(t, "claims"))
	for i := range claims {
		claims[i] = claim(drawGPU(t), drawTask(t), profile.Bytes(rapid.IntRange(1, 12).Draw(t, "memory")))
		claims[i].Task.Alone = rapid.IntRange(0, 9).Draw(t, "alone") == 0
	}
	age := rapid.IntRange(0, 3).Draw(t, "age")
	seen := m.slow.version() - min(m.slow.version(), uint64(age))
	lease, err := m.fast.Reserve(m.version(seen), claims...)
	m.compare(t, "reserve", err, m.slow.reserve(seen, claims))
	if err == nil {
		m.leases = append(m.leases, twinLease{lease, m.slow.leases})
	}
}

func (m *ledgerMachine) lease(t *rapid.T) twinLease {
	if len(m.leases) == 0 {
		t.Skip("no lease yet")
	}
	recent := m.leases[max(0, len(m.leases)-6):]
	return rapid.SampledFrom(recent).Draw(t, "lease")
}

func (m *ledgerMachine) commit(t *rapid.T) {
	lease := m.lease(t)
	m.compare(t, "commit", m.fast.Commit(lease.Lease), m.slow.commit(lease.slow))
}

func (m *ledgerMachine) rollback(t *rapid.T) {
	lease := m.lease(t)
	m.compare(t, "rollback", m.fast.Rollback(lease.Lease), m.slow.rollback(lease.slow))
}

func (m *ledgerMachine) release(t *rapid.T) {
	task := drawTask(t)
	m.compare(t, "release", m.fast.Release(task), m.slow.release(task))
}

// wait moves the clock, also back; the Ledger looks at it in the check.
func (m *ledgerMachine) wait(t *rapid.T) {
	d := time.Duration(rapid.IntRange(-20, 6).Draw(t, "seconds")) * time.Second
	m.clock.Step(d)
	m.slow.pass(d)
	m.fast.Snapshot()
}

func (m *ledgerMachine) reconcile(t *rapid.T) {
	gpu, used := drawGPU(t), make(map[string]profile.Bytes)
	foreign := profile.Bytes(rapid.IntRange(0, 12).Draw(t, "foreign"))
	u := ledger.Usage{GPU: gpu, Processes: []ledger.Process{{PID: 1, Memory: profile.Some(foreign)}}}
	for _, e := range slowOn(gpu, m.slow.entries) {
		id := e.claim.Task.ID
		used[id] = profile.Bytes(rapid.IntRange(0, 14).Draw(t, "used"))
		u.Processes = append(u.Processes, ledger.Process{PID: 2, Task: id, Memory: profile.Some(used[id])})
	}
	m.fast.Reconcile([]ledger.Usage{u})
	m.slow.observe(gpu, foreign, used)
}

// replace removes a GPU and adds it again, empty.
func (m *ledgerMachine) replace(t *rapid.T) {
	id := drawGPU(t)
	if _, err := m.fast.RemoveGPU(id); err != nil {
		t.Fatal(err)
	}
	for _, g := range m.config.GPUs {
		if g.ID != id {
			continue
		}
		if err := m.fast.AddGPU(g); err != nil {
			t.Fatal(err)
		}
	}
	m.slow.replace(id)
}

// check compares everything that can be seen.
func (m *ledgerMachine) check(t *rapid.T) {
	s := m.fast.Snapshot()
	if want := m.version(m.slow.version()); s.Version != want {
		t.Fatalf("version is %v, want %v", s.Version, want)
	}
	for _, g := range s.GPUs {
		var got, want []string
		for _, r := range g.Residents {
			got = append(got, fmt.Sprint(r.ID, " ", int64(r.Reserved)))
		}
		for _, e := range slowOn(g.ID, m.slow.entries) {
			want = append(want, fmt.Sprint(e.claim.Task.ID, " ", int64(e.charge())))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("GPU %s (-want +got):\n%s", g.ID, diff)
		}
	}
}

// Property: whatever happens, the Ledger does what its slow twin does.
func TestLedgerMatchesTwin(t *testing.T) {
	operations := 0
	defer func() { t.Logf("%d operations", operations) }()
	rapid.Check(t, func(t *rapid.T) {
		m := newLedgerMachine(t)
		actions := map[string]func(*rapid.T){
			"":        func(t *rapid.T) { operations++; m.check(t) },
			"reserve": m.reserve, "reserve more": m.reserve, "commit": m.commit, "rollback": m.rollback,
			"release": m.release, "wait": m.wait, "reconcile": m.reconcile, "replace": m.replace,
		}
		for range 5 {
			t.Repeat(actions)
		}
	})
}
