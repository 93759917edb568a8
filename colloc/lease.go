package colloc

import (
	"fmt"
	"slices"
	"time"
)

// Lease is the right to a reservation, returned by [Ledger.Reserve]. It is a
// plain value: keep it, copy it, store it. Each lease of a Ledger has a number
// of its own, which is never used again.
type Lease struct {
	// Number is the lease's name.
	Number uint64 `json:"number"`
	// Expires is when it falls back unless committed, on the clock as it was
	// when the lease was made.
	Expires time.Time `json:"expires"`
}

// Lapse is a lease that was not committed in time.
type Lapse struct {
	// Lease is its number.
	Lease uint64
	// Claims are what it held.
	Claims []Claim
}

// maxLapses is how many lapses are kept for [Ledger.Expire]; older ones are
// forgotten.
const maxLapses = 1024

// lease is what the books know of a Lease.
type lease struct {
	number     uint64
	seats      []*seat
	committed  bool
	deadline   time.Duration // on the stopwatch, until committed
	prev, next *lease        // in the queue of open leases
}

// Commit makes a reservation permanent: its tasks stay in the books until
// [Ledger.Release]. To commit again what is committed is no error. [ErrLeaseOver]
// means that the lease expired, was rolled back, or that its tasks were
// released: do not start them, or stop them. A number that was never given is
// [ErrUnknown].
func (l *Ledger) Commit(given Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	found := l.leases[given.Number]
	switch {
	case given.Number == 0 || given.Number > l.issued:
		return fmt.Errorf("colloc: commit: %w: lease %d", ErrUnknown, given.Number)
	case found == nil:
		return fmt.Errorf("colloc: commit: lease %d: %w", given.Number, ErrLeaseOver)
	case found.committed:
		return nil
	}
	l.open.remove(found)
	found.committed = true
	for _, s := range found.seats {
		s.since = l.clock.elapsed
	}
	l.version++
	return nil
}

// Rollback gives a reservation back that was not committed. It is no error if
// the lease is over already, whatever ended it. [ErrCommitted] means that its
// tasks have to be released instead. A number that was never given is
// [ErrUnknown].
func (l *Ledger) Rollback(given Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	found := l.leases[given.Number]
	switch {
	case given.Number == 0 || given.Number > l.issued:
		return fmt.Errorf("colloc: rollback: %w: lease %d", ErrUnknown, given.Number)
	case found == nil:
		return nil
	case found.committed:
		return fmt.Errorf("colloc: rollback: lease %d: %w", given.Number, ErrCommitted)
	}
	l.open.remove(found)
	l.drop(found)
	l.version++
	return nil
}

// Release takes committed tasks out of the books: they ended. All of them are
// released or none: [ErrUnknown] names the first that is not in the books, which
// a scheduler that repeats a release may ignore, and [ErrNotCommitted] the first
// whose lease is open.
func (l *Ledger) Release(tasks ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	for _, id := range tasks {
		switch s := l.seats[id]; {
		case s == nil:
			return fmt.Errorf("colloc: release: %w: task %q", ErrUnknown, id)
		case !s.lease.committed:
			return fmt.Errorf("colloc: release: task %q: lease %d is %w", id, s.lease.number, ErrNotCommitted)
		}
	}
	for _, id := range tasks {
		if s := l.seats[id]; s != nil { // an ID that is given twice
			l.remove(s)
			l.leave(s)
		}
	}
	l.version++
	return nil
}

// leave takes a seat out of its lease, which is over with the last one.
func (l *Ledger) leave(s *seat) {
	s.lease.seats = slices.DeleteFunc(s.lease.seats, func(o *seat) bool { return o == s })
	if len(s.lease.seats) == 0 {
		delete(l.leases, s.lease.number)
	}
}

// Expire returns the leases that fell back since the last call, in the order in
// which they expired. They fall back by themselves, with the first call of any
// method after their time; Expire reports them. Of those that nobody asks for
// the newest 1,024 are kept.
func (l *Ledger) Expire() []Lapse {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	lapsed := l.lapsed
	l.lapsed = nil
	return lapsed
}

// tick reads the clock and ends the leases whose time is over.
func (l *Ledger) tick() time.Time {
	now := l.clock.read(l.config.Now)
	for l.open.head != nil && l.open.head.deadline-l.clock.elapsed <= 0 {
		over := l.open.head
		lapse := Lapse{Lease: over.number}
		for _, s := range over.seats {
			lapse.Claims = append(lapse.Claims, s.claim())
		}
		if len(l.lapsed) == maxLapses {
			l.lapsed = append(l.lapsed[:0], l.lapsed[1:]...)
		}
		l.lapsed = append(l.lapsed, lapse)
		l.open.remove(over)
		l.drop(over)
		l.version++
	}
	return now
}
