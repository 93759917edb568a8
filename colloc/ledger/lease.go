package ledger

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// Lease is the right to a reservation, returned by [Ledger.Reserve]. It is a
// plain value: keep it, copy it, store it. Epoch and Number together are its
// name, which is never used again, whatever crashes; in JSON
//
//	{"epoch":"9f86d081884c7d65","number":7,"expires":"2026-11-22T07:30:00Z"}
type Lease struct {
	// Epoch is the life of the Ledger in which the lease was given.
	Epoch Epoch `json:"epoch"`
	// Number counts the leases of the epoch from 1.
	Number uint64 `json:"number"`
	// Expires is when it falls back unless committed, on the clock as it was
	// when the lease was made.
	Expires time.Time `json:"expires"`
}

// Lapse is a lease that was not committed in time.
type Lapse struct {
	// Epoch and Lease are its name: the Epoch and Number of the [Lease].
	Epoch Epoch
	Lease uint64
	// Claims are what it held.
	Claims []Claim
}

// maxLapses is how many lapses are kept for [Ledger.Expire]; older ones are
// forgotten.
const maxLapses = 1024

// lease is what the books know of a Lease.
type lease struct {
	name       leaseName
	order      uint64 // in which it joined
	seats      []*seat
	committed  bool
	deadline   time.Duration // on the stopwatch, until committed
	prev, next *lease        // in the queue of open leases
}

func (given Lease) name() leaseName { return leaseName{given.Epoch, given.Number} }

// neverGave reports that a lease is not one of this Ledger, as far as that can be
// told: which numbers other epochs gave is not known.
func (l *Ledger) neverGave(given Lease) bool {
	return given.Number == 0 || given.Epoch == l.epoch && given.Number > l.issued
}

// Commit makes a reservation permanent: its tasks stay in the books until
// [Ledger.Release]. To commit again what is committed is no error. [ErrLeaseOver]
// means that the lease expired, was rolled back, or that its tasks were
// released, or that the books were loaded from a file that does not have it: do
// not start them, or stop them. A number that this epoch never gave is
// [ErrUnknown].
func (l *Ledger) Commit(given Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	found := l.leases[given.name()]
	switch {
	case l.neverGave(given):
		return fmt.Errorf("ledger: commit: %w: lease %v", ErrUnknown, given.name())
	case found == nil:
		return fmt.Errorf("ledger: commit: lease %v: %w", given.name(), ErrLeaseOver)
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
// tasks have to be released instead. A number that this epoch never gave is
// [ErrUnknown].
func (l *Ledger) Rollback(given Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	found := l.leases[given.name()]
	switch {
	case l.neverGave(given):
		return fmt.Errorf("ledger: rollback: %w: lease %v", ErrUnknown, given.name())
	case found == nil:
		return nil
	case found.committed:
		return fmt.Errorf("ledger: rollback: lease %v: %w", given.name(), ErrCommitted)
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
			return fmt.Errorf("ledger: release: %w: task %q", ErrUnknown, id)
		case !s.lease.committed:
			return fmt.Errorf("ledger: release: task %q: lease %v is %w", id, s.lease.name, ErrNotCommitted)
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
		delete(l.leases, s.lease.name)
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
		lapse := Lapse{Epoch: over.name.epoch, Lease: over.name.number}
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

// Epoch names one life of a [Ledger]: from [New] or [Load] until the
// process ends. It is 64 random bits, never 0, drawn when the books are opened
// and not derived from anything that a crash can lose, so that neither a second
// restart from one file nor two ledgers loaded from it at once give a lease or a
// version the same name: of a million restarts two have the same epoch with a
// probability of 3e-8. In JSON it is text, because programs that keep numbers as
// floats would round it. Epoch 0 is that of leases from files of format 1.
type Epoch uint64

// String returns the epoch as 16 hexadecimal digits.
func (e Epoch) String() string { return fmt.Sprintf("%016x", uint64(e)) }

// MarshalText implements [encoding.TextMarshaler], as String.
func (e Epoch) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (e *Epoch) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil {
		return fmt.Errorf("ledger: epoch %q: want 16 hexadecimal digits", text)
	}
	*e = Epoch(n)
	return nil
}

// Version names one moment of the books. Versions of one epoch are ordered by
// their number; those of different epochs have nothing to do with each other.
// They can be compared with ==, stored and sent.
type Version struct {
	// Epoch is the life of the Ledger that the moment belongs to.
	Epoch Epoch `json:"epoch"`
	// Number grows with every change.
	Number uint64 `json:"number"`
}

// String returns epoch and number, separated by a colon.
func (v Version) String() string { return fmt.Sprintf("%v:%d", v.Epoch, v.Number) }

// leaseName tells a lease from every other.
type leaseName struct {
	epoch  Epoch
	number uint64
}

// String names the lease in errors.
func (n leaseName) String() string { return fmt.Sprintf("%d of epoch %v", n.number, n.epoch) }

// drawTries is how often an epoch is drawn before the source counts as broken.
const drawTries = 16

// drawEpoch draws an epoch that is not among those known. A nil source is
// crypto/rand.
func drawEpoch(source io.Reader, known map[Epoch]bool) (Epoch, error) {
	if source == nil {
		source = rand.Reader
	}
	var bits [8]byte
	for range drawTries {
		if _, err := io.ReadFull(source, bits[:]); err != nil {
			return 0, fmt.Errorf("ledger: Rand gives no epoch: %w", err)
		}
		if e := Epoch(binary.LittleEndian.Uint64(bits[:])); e != 0 && !known[e] {
			return e, nil
		}
	}
	return 0, errors.New("ledger: Rand gives the same epochs again; leave it nil, or seed it anew at every start")
}

// byJoining orders leases as they came.
func byJoining(a, b *lease) int { return cmp.Compare(a.order, b.order) }
