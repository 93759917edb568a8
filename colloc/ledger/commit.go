package ledger

import (
	"fmt"
)

// Commit makes a reservation permanent: its tasks stay in the books until
// [Ledger.Release]. To commit again what is committed is no error. [ErrLeaseOver]
// means that the lease expired, was rolled back, that its tasks were
// released, or that it is of another [Epoch]: do not start them, or stop them. A number that this epoch never gave is
// [ErrUnknown].
func (l *Ledger) Commit(given Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	found := l.given(given)
	switch {
	case l.neverGave(given):
		return fmt.Errorf("ledger: commit: %w: %s", ErrUnknown, given.name())
	case found == nil:
		return fmt.Errorf("ledger: commit: %s: %w", given.name(), ErrLeaseOver)
	case found.committed:
		return nil
	}
	l.commit(found)
	l.version++
	return nil
}

// commit makes a lease one whose tasks run, unless it is.
func (l *Ledger) commit(own *lease) {
	if own.committed {
		return
	}
	l.open.remove(own)
	own.committed = true
	for _, s := range own.seats {
		s.since = l.clock.elapsed
	}
}

// Rollback gives a reservation back that was not committed. It is no error if
// the lease is over already, whatever ended it. [ErrCommitted] means that its
// tasks have to be released instead. A number that this epoch never gave is
// [ErrUnknown].
func (l *Ledger) Rollback(given Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	found := l.given(given)
	switch {
	case l.neverGave(given):
		return fmt.Errorf("ledger: rollback: %w: %s", ErrUnknown, given.name())
	case found == nil:
		return nil
	case found.committed:
		return fmt.Errorf("ledger: rollback: %s: %w", given.name(), ErrCommitted)
	}
	l.open.remove(found)
	l.drop(found)
	l.version++
	return nil
}

// Release takes committed tasks out of the books: they ended; a gang leaves all
// its GPUs. All of them are
// released or none: [ErrUnknown] names the first that is not in the books, which
// a scheduler that repeats a release may ignore, and [ErrNotCommitted] the first
// whose lease is open.
func (l *Ledger) Release(tasks ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	for _, id := range tasks {
		switch all := l.seats[id]; {
		case len(all) == 0:
			return fmt.Errorf("ledger: release: %w: task %q", ErrUnknown, id)
		case !all[0].lease.committed:
			return fmt.Errorf("ledger: release: task %q: lease %d is %w", id, all[0].lease.number, ErrNotCommitted)
		}
	}
	for _, id := range tasks {
		for len(l.seats[id]) > 0 { // none for an ID that is given twice
			s := l.seats[id][0]
			l.remove(s)
			l.leave(s)
		}
	}
	l.version++
	return nil
}
