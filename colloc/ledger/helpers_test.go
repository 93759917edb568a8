package ledger_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

// fakeClock is a clock that stands still until it is told.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// sized is a task of which the books know the reservation alone.
func sized(id string, reserved profile.Bytes) colloc.Task {
	return colloc.Task{ID: id, Reserved: reserved, Profile: &profile.Profile{}}
}

func hermit(id string, reserved profile.Bytes) colloc.Task {
	t := sized(id, reserved)
	t.Alone = true
	return t
}

func claim(gpu, id string, reserved profile.Bytes) ledger.Claim {
	return ledger.Claim{GPU: gpu, Task: sized(id, reserved)}
}

// bare is a card of which 90 % may be reserved.
func bare(id string, memory profile.Bytes, residents ...colloc.Task) colloc.GPU {
	return colloc.GPU{ID: id, Memory: memory, Residents: residents}
}

func newLedger(tb testing.TB, c ledger.Config) (*ledger.Ledger, *fakeClock) {
	tb.Helper()
	clock := newFakeClock()
	c.Now = clock.Now
	l, err := ledger.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return l, clock
}

// mustReserve reserves on the newest snapshot.
func mustReserve(tb testing.TB, l *ledger.Ledger, claims ...ledger.Claim) ledger.Lease {
	tb.Helper()
	lease, err := l.Reserve(l.Snapshot().Version, claims...)
	if err != nil {
		tb.Fatal(err)
	}
	return lease
}

func mustCommit(tb testing.TB, l *ledger.Ledger, claims ...ledger.Claim) {
	tb.Helper()
	if err := l.Commit(mustReserve(tb, l, claims...)); err != nil {
		tb.Fatal(err)
	}
}

// held lists the books by GPU: task IDs in the order they joined.
func held(l *ledger.Ledger) map[string][]string {
	books := make(map[string][]string)
	for _, g := range l.Snapshot().GPUs {
		for _, t := range g.Residents {
			books[g.ID] = append(books[g.ID], t.ID)
		}
	}
	return books
}

// pages is all that the books say of their GPUs, to compare.
func pages(l *ledger.Ledger) string { return fmt.Sprintf("%+v", l.Snapshot().GPUs) }
