package ledger

import (
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// account is the page of one GPU.
type account struct {
	gpu       colloc.GPU    // as configured, without residents
	usable    profile.Bytes // after headroom
	foreign   profile.Bytes // in use by processes that are not in the books
	booked    profile.Bytes // sum of the seats' charges, kept by recount
	seats     []*seat       // in the order they joined
	tightened uint64        // version when a task joined or usage grew
	remade    uint64        // version when the card was changed, or foreigners came that count as a resident
}

// seat is one task on one GPU.
type seat struct {
	task    colloc.Task
	account *account
	lease   *lease
	used    profile.Bytes // as last seen; 0 before
	joined  uint64        // version
	since   time.Duration // when it was committed, or entered
}

// charge is what the task counts for.
func (s *seat) charge() profile.Bytes { return max(s.task.Reserved, s.used) }

// free is what is left for more tasks; it is negative where what runs needs
// more than the GPU should give.
func (a *account) free() profile.Bytes { return a.usable - plus(a.foreign, a.booked) }

// room is what is left for one more task: less than [account.free] where those that
// share the GPU need more than their reservations and the headroom does not bear it.
func (a *account) room(together profile.Bytes) profile.Bytes {
	beyond := profile.BytesOf(float64(len(a.seats)) * float64(together))
	return min(a.free(), a.gpu.Total()-plus(plus(a.foreign, a.booked), beyond))
}

// recount adds up the charges.
func (a *account) recount() {
	a.booked = 0
	for _, s := range a.seats {
		a.booked = plus(a.booked, s.charge())
	}
}

// plus adds amounts that are not negative; what is too large stays the largest.
func plus(a, b profile.Bytes) profile.Bytes {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// lease is what the books know of a Lease.
type lease struct {
	number     uint64
	seats      []*seat
	committed  bool
	deadline   time.Duration // on the stopwatch, until committed
	prev, next *lease        // in the queue of open leases
}

// newcomer returns a task that joined after the snapshot, other than those of
// the same reservation.
func (a *account) newcomer(taken *lease, seen uint64) string {
	for _, s := range a.seats {
		if s.lease != taken && s.joined > seen {
			return s.task.ID
		}
	}
	return ""
}

// guard returns the task that forbids t to join: t itself if it must be alone
// and would not be.
func (a *account) guard(t *colloc.Task) string {
	for _, s := range a.seats {
		switch {
		case s.task.Alone:
			return s.task.ID
		case t.Alone:
			return t.ID
		}
	}
	return ""
}

// stranger returns a task whose labels and those of t do not go together.
func (a *account) stranger(t *colloc.Task) string {
	for _, s := range a.seats {
		if !t.Accepts(&s.task) {
			return s.task.ID
		}
	}
	return ""
}

// most returns how many tasks may share the GPU.
func (a *account) most(maxSet int) int {
	shares := func(m profile.Mechanism) bool { return m != profile.Exclusive }
	if len(a.gpu.Mechanisms) > 0 && !slices.ContainsFunc(a.gpu.Mechanisms, shares) {
		return 1
	}
	return maxSet
}

// remaining is the card's memory without what foreign processes use of it: the
// largest total of which the headroom leaves no more than is there for tasks.
func (a *account) remaining(headroom float64) profile.Bytes {
	if a.foreign == 0 {
		return a.gpu.Memory
	}
	offer := max(0, a.usable-a.foreign)
	fits, tooMuch := profile.Bytes(1), a.gpu.Memory // 0 would mean the product's memory
	for tooMuch-fits > 1 {
		middle := fits + (tooMuch-fits)/2
		if colloc.Usable(middle, headroom) <= offer {
			fits = middle
		} else {
			tooMuch = middle
		}
	}
	return fits
}

// claim is what put the task there.
func (s *seat) claim() Claim { return Claim{Task: s.task, GPU: s.account.gpu.ID} }
