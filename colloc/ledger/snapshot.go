package ledger

import (
	"fmt"
	"math"

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
	// left after headroom and residents is what Reserve would grant. With
	// [Config].ForeignResidents those processes are the last resident instead, and
	// Memory is the card's total. Labels and Profiles are shared with the books: leave
	// them as they are.
	GPUs []colloc.GPU
}

// Snapshot copies the books. O(GPUs + tasks).
func (l *Ledger) Snapshot() Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	return l.copyOf(l.accounts)
}

// View copies the books of some GPUs, in the order given, for a decision about these:
// a scheduler that has filtered by node need not pay for the others. [ErrUnknown] means
// that the books have no such GPU, [ErrDuplicate] that one is named twice. O(GPUs named +
// tasks there).
func (l *Ledger) View(gpus ...string) (Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick()
	pages := make([]*account, 0, len(gpus))
	named := make(map[string]bool, len(gpus))
	for _, id := range gpus {
		a := l.byID[id]
		if a == nil {
			return Snapshot{}, fmt.Errorf("ledger: view: %w: GPU %q", ErrUnknown, id)
		}
		if named[id] {
			return Snapshot{}, fmt.Errorf("ledger: view: %w: GPU %q", ErrDuplicate, id)
		}
		pages, named[id] = append(pages, a), true
	}
	return l.copyOf(pages), nil
}

// copyOf copies some pages.
func (l *Ledger) copyOf(pages []*account) Snapshot {
	s := Snapshot{Version: Version{l.epoch, l.version}, GPUs: make([]colloc.GPU, len(pages))}
	n := 0
	for _, a := range pages {
		n += len(a.seats) + 1
	}
	residents := make([]colloc.Task, 0, n)
	for i, a := range pages {
		first := len(residents)
		for _, seat := range a.seats {
			t := seat.task
			t.Reserved = seat.charge()
			residents = append(residents, t)
		}
		s.GPUs[i] = a.gpu
		if l.config.ForeignResidents && a.foreign > 0 {
			residents = append(residents, foreignTask(a))
		} else {
			s.GPUs[i].Memory = a.remaining(l.config.Headroom.Or(0))
		}
		s.GPUs[i].Residents = residents[first:len(residents):len(residents)]
	}
	return s
}

// foreignTask stands for the foreign processes on a card. How busy they keep it the
// books do not know.
func foreignTask(a *account) colloc.Task {
	return colloc.Task{ID: "foreign processes on " + a.gpu.ID, Reserved: a.foreign, MaxSlowdown: math.Inf(1), Foreign: true}
}
