package ledger

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// Ledger keeps the books of a set of GPUs: which task holds how much memory of
// which GPU, and who shares it. Make one with [New] or [Load]. All methods are
// safe for concurrent use. Reserve, Commit, Rollback and Release cost O(claims x
// tasks per GPU).
type Ledger struct {
	config Config

	mu       sync.Mutex
	accounts []*account           // in the configured order
	byID     map[string]*account  // by GPU
	seats    map[string]*seat     // by task
	leases   map[leaseName]*lease // open, or committed with tasks in the books
	open     leaseQueue           // by deadline
	lapsed   []Lapse              // not yet reported
	epoch    Epoch                // of the leases and versions given from now on
	issued   uint64               // number of the newest lease of the epoch
	version  uint64               // of the epoch; grows with every change
	entered  uint64               // counts the leases in the order they joined
	clock    stopwatch
}

// account is the page of one GPU.
type account struct {
	gpu       colloc.GPU    // as configured, without residents
	usable    profile.Bytes // after headroom
	foreign   profile.Bytes // in use by processes that are not in the books
	booked    profile.Bytes // sum of the seats' charges, kept by recount
	seats     []*seat       // in the order they joined
	tightened uint64        // version when a task joined or usage grew
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

// New opens the books. It reports every fault of the Config in one
// error.
func New(c Config) (*Ledger, error) {
	l, err := empty(c, nil)
	if err == nil {
		err = l.settleAll(c.GPUs)
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: config: %w", err)
	}
	return l, nil
}

// empty opens books without any task, in an epoch that is not among past.
func empty(c Config, past map[Epoch]bool) (*Ledger, error) {
	l := &Ledger{
		config: c,
		byID:   make(map[string]*account, len(c.GPUs)),
		seats:  make(map[string]*seat),
		leases: make(map[leaseName]*lease),
	}
	l.config.fill()
	errs := []error{c.validate()}
	for i := range c.GPUs {
		errs = append(errs, l.add(&c.GPUs[i]))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	epoch, err := drawEpoch(c.Rand, past)
	if err != nil {
		return nil, err
	}
	l.epoch = epoch
	l.config.GPUs, l.config.Rand = nil, nil
	l.clock.limit = max(l.config.LeaseTime, l.config.StartTime)
	l.clock.read(c.Now)
	return l, nil
}

// add opens the page of one GPU.
func (l *Ledger) add(g *colloc.GPU) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if g.Total() > maxMemory {
		return fmt.Errorf("ledger: GPU %q: Memory is %v, want at most %v", g.ID, g.Total(), maxMemory)
	}
	if l.byID[g.ID] != nil {
		return fmt.Errorf("ledger: GPU %q: %w ID", g.ID, ErrDuplicate)
	}
	a := &account{gpu: *g, usable: colloc.Usable(g.Total(), l.config.Headroom.Or(0))}
	a.gpu.Memory, a.gpu.Residents = g.Total(), nil
	l.accounts, l.byID[g.ID] = append(l.accounts, a), a
	return nil
}

// settleAll books the residents, each with a lease of its own.
func (l *Ledger) settleAll(gpus []colloc.GPU) error {
	var errs []error
	for i := range gpus {
		for j := range gpus[i].Residents {
			l.issued++
			own := &lease{name: leaseName{l.epoch, l.issued}, committed: true}
			l.enter(own)
			errs = append(errs, l.settle(own, gpus[i].ID, &gpus[i].Residents[j]))
		}
	}
	return errors.Join(errs...)
}

// enter adds a lease after those that are there.
func (l *Ledger) enter(own *lease) {
	l.entered++
	own.order = l.entered
	l.leases[own.name] = own
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
	if old := l.seats[t.ID]; old != nil {
		return fmt.Errorf("ledger: %w task %q, on GPU %q and on GPU %q", ErrDuplicate, t.ID, old.account.gpu.ID, gpu)
	}
	l.place(own, a, t)
	l.seats[t.ID].joined, a.tightened = l.version, l.version
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
