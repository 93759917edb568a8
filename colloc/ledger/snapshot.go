package ledger

import (
	"example.com/colloc/colloc"
)

// Snapshot is the state of a [Ledger] at one moment. It is the caller's: nothing
// changes it afterwards.
type Snapshot struct {
	// Version names the moment; [Ledger.Reserve] takes it.
	Version Version
	// GPUs are the cards in the configured order, ready for [colloc.Planner.Fit],
	// [colloc.Planner.Score] and [colloc.Planner.Plan] of a Planner with the same headroom.
	//
	// Residents are the tasks in the books, reserved or committed, in the order
	// they joined. Their Reserved is what they count for: more than they were
	// promised if [Ledger.Reconcile] saw them use more. Memory is the card's
	// total less what processes use that are not in the books, so that what is
	// left after headroom and residents is what Reserve would grant.
	GPUs []colloc.GPU
}

// Snapshot copies the books. O(GPUs + tasks).
func (l *Ledger) Snapshot() Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	s := Snapshot{Version: Version{l.epoch, l.version}, GPUs: make([]colloc.GPU, len(l.accounts))}
	n := 0
	for _, a := range l.accounts {
		n += len(a.seats)
	}
	residents := make([]colloc.Task, 0, n)
	for i, a := range l.accounts {
		first := len(residents)
		for _, seat := range a.seats {
			t := seat.task
			t.Reserved = seat.charge()
			residents = append(residents, t)
		}
		s.GPUs[i] = a.gpu
		s.GPUs[i].Memory = a.remaining(l.config.Headroom.Or(0))
		s.GPUs[i].Residents = residents[first:len(residents):len(residents)]
	}
	return s
}
