package ledger

import (
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
	l.tick()
	if err := l.add(&g); err != nil {
		return err
	}
	l.version++
	first := l.issued
	if err := l.settleAll([]colloc.GPU{g}); err != nil {
		l.strike(l.byID[g.ID])
		for ; l.issued > first; l.issued-- {
			delete(l.leases, leaseName{l.epoch, l.issued})
		}
		l.version--
		return err
	}
	l.byID[g.ID].tightened = l.version
	return nil
}

// RemoveGPU takes a card out of the books: it failed, or its machine left. What
// was on it goes with it and is returned: committed tasks in the order they
// joined, and of leases that are still open everything they held, elsewhere too,
// because a gang without one worker cannot start; to commit those is
// [ErrLeaseOver]. Committed workers of a gang on other cards stay until
// [Ledger.Release]. [ErrUnknown] means that the books have no such GPU.
func (l *Ledger) RemoveGPU(id string) ([]Claim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	a := l.byID[id]
	if a == nil {
		return nil, fmt.Errorf("ledger: remove GPU: %w: GPU %q", ErrUnknown, id)
	}
	gone := l.strike(a)
	l.version++
	return gone, nil
}

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
