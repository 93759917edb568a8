package ledger

import (
	"fmt"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
)

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
			return fmt.Errorf("ledger: release: task %q: lease %v is %w", id, all[0].lease.name, ErrNotCommitted)
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

// Amend changes what the books say of a committed task, on all its GPUs or, with an
// error, on none: its Profile, Elsewhere, Weight, MaxSlowdown, Alone and Reserved become
// those of t, all else stays. Less memory is always taken. More of it, and to be alone from now on,
// is refused where there is no room beside the others: a [*RefusedError] that is
// [ErrFull]. [ErrUnknown] and [ErrNotCommitted] are as for [Ledger.Release]. O(tasks per
// GPU).
func (l *Ledger) Amend(t colloc.Task) error {
	if err := checkBooked(&t); err != nil {
		return fmt.Errorf("ledger: amend: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	seats := l.seats[t.ID]
	if len(seats) == 0 {
		return fmt.Errorf("ledger: amend: %w: task %q", ErrUnknown, t.ID)
	}
	if !seats[0].lease.committed {
		return fmt.Errorf("ledger: amend: task %q: lease %v is %w", t.ID, seats[0].lease.name, ErrNotCommitted)
	}
	for _, s := range seats {
		if refused := l.refuses(s, &t); refused != nil {
			return refused
		}
	}
	l.version++
	for _, s := range seats {
		before := s.charge()
		s.task.Profile, s.task.Elsewhere, s.task.Weight, s.task.MaxSlowdown = t.Profile, t.Elsewhere, t.Weight, t.MaxSlowdown
		s.task.Alone, s.task.Reserved = t.Alone, t.Reserved
		s.account.recount()
		if s.charge() > before {
			s.account.tightened = l.version
		}
	}
	return nil
}

// refuses says why a task cannot become what t says; nil if it can.
func (l *Ledger) refuses(s *seat, t *colloc.Task) error {
	others := *s.account
	others.seats = slices.DeleteFunc(slices.Clone(others.seats), func(o *seat) bool { return o == s })
	others.recount()
	e := &RefusedError{Task: t.ID, GPU: others.gpu.ID}
	switch room := others.room(l.config.Together); {
	case t.Reserved > s.charge() && t.Reserved > room:
		e.Code, e.Needed, e.Free = packer.MemoryLimit, t.Reserved, max(0, room)
	case t.Alone && !s.task.Alone && len(others.seats) > 0:
		e.Code, e.Other = packer.MustBeAlone, others.seats[0].task.ID
	default:
		return nil
	}
	return e
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
