package ledger

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/colloc/colloc"
)

// Ledger keeps the books of a set of GPUs: which task holds how much memory of
// which GPU, and who shares it. Make one with [New]: the zero Ledger has
// no GPUs and takes none. All methods are safe for concurrent use. Reserve, Commit, Rollback and Release cost O(claims x
// tasks per GPU).
type Ledger struct {
	config Config

	mu       sync.Mutex
	accounts []*account          // in the configured order
	byID     map[string]*account // by GPU
	seats    map[string][]*seat  // by task; a gang has one on each of its GPUs
	leases   map[uint64]*lease   // by number: open, or committed with tasks in the books
	open     leaseQueue          // by deadline
	epoch    Epoch               // of the leases and versions given from now on
	issued   uint64              // number of the newest lease of the epoch
	version  uint64              // of the epoch; grows with every change
	clock    stopwatch
}

// New opens the books. It reports every fault of the Config in one
// error.
func New(c Config) (*Ledger, error) {
	l := &Ledger{
		config: c,
		epoch:  drawEpoch(),
		byID:   make(map[string]*account, len(c.GPUs)),
		seats:  make(map[string][]*seat),
		leases: make(map[uint64]*lease),
	}
	l.config.fill()
	errs := []error{c.validate()}
	for i := range c.GPUs {
		errs = append(errs, l.add(&c.GPUs[i]))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("ledger: config: %w", err)
	}
	l.config.GPUs = nil
	l.clock.limit = max(l.config.LeaseTime, l.config.StartTime)
	l.clock.read(c.Now)
	if err := l.settleAll(c.GPUs); err != nil {
		return nil, fmt.Errorf("ledger: config: %w", err)
	}
	return l, nil
}

// add opens the page of one GPU.
func (l *Ledger) add(g *colloc.GPU) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if l.byID[g.ID] != nil {
		return fmt.Errorf("ledger: GPU %q: %w ID", g.ID, ErrDuplicate)
	}
	a := new(account)
	a.configure(g, l.config.Headroom.Or(0))
	l.accounts, l.byID[g.ID] = append(l.accounts, a), a
	return nil
}

// checkCard reports why a GPU cannot be one that is changed or comes empty.
func checkCard(g *colloc.GPU) error {
	if len(g.Residents) > 0 {
		return fmt.Errorf("GPU %q: Residents is not empty, want the card alone; Book what runs there", g.ID)
	}
	return g.Validate()
}

// configure makes a page that of a card as it is from now on.
func (a *account) configure(g *colloc.GPU, headroom float64) {
	a.gpu, a.usable = *g, colloc.Usable(g.Total(), headroom)
	a.gpu.Memory, a.gpu.Residents = g.Total(), nil
}

// settleAll books the residents, each with a lease of its own.
func (l *Ledger) settleAll(gpus []colloc.GPU) error {
	var errs []error
	for i := range gpus {
		for j := range gpus[i].Residents {
			own := l.residentLease(&gpus[i].Residents[j])
			errs = append(errs, l.settle(own, gpus[i].ID, &gpus[i].Residents[j]))
		}
	}
	return errors.Join(errs...)
}

// gangLease is the lease of a task, a gang for one, that runs and has GPUs in the books, or nil.
func (l *Ledger) gangLease(t *colloc.Task) *lease {
	if all := l.seats[t.ID]; len(all) > 0 && all[0].lease.committed {
		return all[0].lease
	}
	return nil
}

// settle books a task that runs already, whatever the limits.
func (l *Ledger) settle(own *lease, gpu string, t *colloc.Task) error {
	a := l.byID[gpu]
	if a == nil {
		return fmt.Errorf("ledger: task %q: %w GPU %q", t.ID, ErrUnknown, gpu)
	}
	if err := checkBooked(t); err != nil {
		return err
	}
	if old := l.other(own, a, t); old != nil {
		return fmt.Errorf("ledger: %w task %q, on GPU %q and on GPU %q", ErrDuplicate, t.ID, old.account.gpu.ID, gpu)
	}
	l.place(own, a, t).joined, a.tightened = l.version, l.version
	return nil
}

// other returns a seat that forbids t one on a, for own: every one of that ID but
// those of the same gang on other GPUs.
func (l *Ledger) other(own *lease, a *account, t *colloc.Task) *seat {
	all := l.seats[t.ID]
	for _, s := range all {
		if s.lease != own || s.account == a || len(all) >= t.Width() {
			return s
		}
	}
	return nil
}

// checkBooked reports why a task cannot be in the books.
func checkBooked(t *colloc.Task) error {
	if err := t.Validate(); err != nil {
		return err
	}
	if t.Reserved == 0 || t.Reserved > maxMemory {
		return fmt.Errorf("ledger: task %q: Reserved is %v, want more than 0, up to %v; a Verdict and a Plan say how much", t.ID, t.Reserved, maxMemory)
	}
	return nil
}

// place enters a task in the books.
func (l *Ledger) place(taken *lease, a *account, t *colloc.Task) *seat {
	s := &seat{task: *t, account: a, lease: taken, since: l.clock.elapsed}
	taken.seats = append(taken.seats, s)
	a.seats = append(a.seats, s)
	a.recount()
	l.seats[t.ID] = append(l.seats[t.ID], s)
	return s
}

// remove takes a task out of the books, but not out of its lease.
func (l *Ledger) remove(s *seat) {
	a := s.account
	a.seats = slices.DeleteFunc(a.seats, func(o *seat) bool { return o == s })
	a.recount()
	all := slices.DeleteFunc(l.seats[s.task.ID], func(o *seat) bool { return o == s })
	if l.seats[s.task.ID] = all; len(all) == 0 {
		delete(l.seats, s.task.ID)
	}
}

// drop takes all tasks of a lease out of the books.
func (l *Ledger) drop(over *lease) {
	for _, s := range over.seats {
		l.remove(s)
	}
	delete(l.leases, over.number)
}

// leave takes a seat out of its lease, which is over with the last one.
func (l *Ledger) leave(s *seat) {
	s.lease.seats = slices.DeleteFunc(s.lease.seats, func(o *seat) bool { return o == s })
	if len(s.lease.seats) == 0 {
		delete(l.leases, s.lease.number)
	}
}

// given is what the books know of a Lease, nil if it is over or another Ledger's.
func (l *Ledger) given(g Lease) *lease {
	if g.Epoch != l.epoch {
		return nil
	}
	return l.leases[g.Number]
}

// neverGave reports that a lease is not one of this Ledger, as far as that can be
// told: which numbers other epochs gave is not known.
func (l *Ledger) neverGave(given Lease) bool {
	return given.Number == 0 || given.Epoch == l.epoch && given.Number > l.issued
}

// tick reads the clock and ends the leases whose time is over.
func (l *Ledger) tick() time.Time {
	if l.config.Now == nil {
		return time.Time{} // books that were never opened
	}
	now := l.clock.read(l.config.Now)
	for l.open.head != nil && l.open.head.deadline-l.clock.elapsed <= 0 {
		over := l.open.head
		l.open.remove(over)
		l.drop(over)
		l.version++
	}
	return now
}
