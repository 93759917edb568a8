package ledger

import (
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/colloc"
)

// AddGPU takes a card into the books: a machine joined. What runs there already,
// its Residents, enters as committed, as with [Config].GPUs. The card comes
// last in every later [Snapshot]; a decision on an older one is out of date
// there. [ErrDuplicate] means that the books have such a GPU or one of its tasks
// already. On an error nothing changes.
func (l *Ledger) AddGPU(g colloc.GPU) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.config.Now == nil {
		return errZero
	}
	l.tick()
	if err := l.add(&g); err != nil {
		return err
	}
	l.version++
	first := l.issued
	if err := l.settleAll([]colloc.GPU{g}); err != nil {
		l.strike(l.byID[g.ID])
		l.takeBack(first)
		return err
	}
	l.byID[g.ID].tightened = l.version
	return nil
}

// Book enters what runs already, whatever the limits, as committed: a scheduler that
// restarts, or that finds tasks of its own on a card, books reality. What stands in the
// books on that GPU already stays as it is, and an open lease of it is committed: it
// runs. Where it is more than a limit allows, nothing is added until it fits again, and
// [Ledger.Reconcile] says so. All claims are booked or none: [ErrUnknown] means that the
// books have no such GPU, [ErrDuplicate] that they have the task on another one.
func (l *Ledger) Book(claims ...Claim) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.config.Now == nil {
		return errZero
	}
	l.tick()
	l.version++
	first := l.issued
	var entered []*seat
	var run []*lease // that stood in the books
	for i := range claims {
		t := &claims[i].Task
		if s := l.seatOn(t.ID, claims[i].GPU); s != nil {
			run = append(run, s.lease)
			continue
		}
		own := l.residentLease(t)
		if err := l.settle(own, claims[i].GPU, t); err != nil {
			for _, s := range entered {
				l.remove(s)
				l.leave(s)
			}
			l.takeBack(first)
			return fmt.Errorf("ledger: book: %w", err)
		}
		entered = append(entered, own.seats[len(own.seats)-1])
	}
	for _, own := range run {
		l.commit(own)
	}
	return nil
}

// seatOn is that of a task on a GPU, nil if there is none.
func (l *Ledger) seatOn(task, gpu string) *seat {
	for _, s := range l.seats[task] {
		if s.account.gpu.ID == gpu {
			return s
		}
	}
	return nil
}

// residentLease is the lease of a task that runs already: the one that the rest of its
// gang has, or a new one, committed.
func (l *Ledger) residentLease(t *colloc.Task) *lease {
	if own := l.gangLease(t); own != nil {
		return own
	}
	l.issued++
	own := &lease{number: l.issued, committed: true}
	l.leases[own.number] = own
	return own
}

// takeBack undoes a change that failed: the leases after first and its version.
func (l *Ledger) takeBack(first uint64) {
	for ; l.issued > first; l.issued-- {
		delete(l.leases, l.issued)
	}
	l.version--
}

// ChangeGPU gives cards that are in the books the product, memory, slice, mechanisms
// and labels that they have from now on: a MIG instance was made anew with another size,
// a label was set, sharing was switched off. They are told by their IDs, list no
// Residents and keep their places; what runs there stays, even if it is more than the
// card now offers. Decisions on older snapshots are out of date there. All are changed
// or, on an error, none; [ErrUnknown] means that the books have no such GPU.
func (l *Ledger) ChangeGPU(gpus ...colloc.GPU) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	for i := range gpus {
		if err := checkCard(&gpus[i]); err != nil {
			return fmt.Errorf("ledger: change: %w", err)
		}
		if l.byID[gpus[i].ID] == nil {
			return fmt.Errorf("ledger: change: %w: GPU %q", ErrUnknown, gpus[i].ID)
		}
	}
	l.version++
	for i := range gpus {
		a := l.byID[gpus[i].ID]
		a.configure(&gpus[i], l.config.Headroom.Or(0))
		a.remade, a.tightened = l.version, l.version
	}
	return nil
}

// RemoveGPU takes cards out of the books: they failed, or their machine left. What
// was on them goes with them and is returned: committed tasks in the order they
// joined, and of leases that are still open everything they held, elsewhere too,
// because a gang without one worker cannot start; to commit those is
// [ErrLeaseOver]. Committed workers of a gang on other cards stay until
// [Ledger.Release]. [ErrUnknown] means that the books have no such GPU.
//
// A machine with several cards is one call: nobody can reserve on one of them
// while another goes. All of them leave or, on an error, none; claims come in the
// order of the ids. An ID that is given twice counts once.
func (l *Ledger) RemoveGPU(ids ...string) ([]Claim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	for _, id := range ids {
		if l.byID[id] == nil {
			return nil, fmt.Errorf("ledger: remove GPU: %w: GPU %q", ErrUnknown, id)
		}
	}
	var gone []Claim
	for _, id := range ids {
		if a := l.byID[id]; a != nil {
			gone = append(gone, l.strike(a)...)
		}
	}
	if len(ids) > 0 {
		l.version++
	}
	return gone, nil
}

var errZero = errors.New("ledger: the books were never opened; make a Ledger with New")

// strike ends what is on a GPU and takes its page out of the books.
func (l *Ledger) strike(a *account) []Claim {
	var gone []Claim
	for len(a.seats) > 0 {
		s := a.seats[0]
		if s.lease.committed {
			gone = append(gone, s.claim())
			l.remove(s)
			l.leave(s)
			continue
		}
		for _, held := range s.lease.seats {
			gone = append(gone, held.claim())
		}
		l.open.remove(s.lease)
		l.drop(s.lease)
	}
	delete(l.byID, a.gpu.ID)
	l.accounts = slices.DeleteFunc(l.accounts, func(o *account) bool { return o == a })
	return gone
}
