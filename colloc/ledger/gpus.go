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
		for ; l.issued > first; l.issued-- {
			delete(l.leases, leaseName{l.epoch, l.issued})
		}
		l.version--
		return err
	}
	l.byID[g.ID].tightened = l.version
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

var errZero = errors.New("ledger: the books were never opened; make a Ledger with New or Load")

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
