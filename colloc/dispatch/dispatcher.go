package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// Dispatcher decides. It is not safe for concurrent use.
type Dispatcher struct {
	mind Mind
	o    Options

	now   time.Duration
	begun bool // now is a moment of the caller's
	stale bool // something has changed since online decided

	jobs   map[string]*entry
	order  []*entry // by arrival, some of them gone
	dead   int      // how many of them
	seqs   uint64
	runs   uint64          // the highest number of a run
	lives  map[uint64]*run // that are not over
	asks   []*run          // of those the ones that were asked to start, some of them not any more
	leaves []*run          // of those the ones that stop, in the order in which they were told to
	grants []*run          // that were decided and wait for others to be gone, some of them over
	cards  map[string]*card
	slots  []*card       // by online's index; nil was removed
	free   int           // no slot below it is nil
	most   profile.Bytes // the memory of the largest GPU
	losses []Action      // who is given up at the next decision
	waits  int           // jobs that come after others
	shy    []*entry      // jobs that were refused, of late
	booked []*card       // that are reserved
	users  map[string]*user
	floors map[string]profile.Bytes // what jobs need at least of whose Kind one ran out of memory
	mean   float64                  // how much GPU time a run took of late, in seconds
	ended  int                      // how many runs that is about

	online *online.Scheduler
	ops    []func() error // what online must be told when all events of a call are taken in
	undo   []func()
}

// New returns a Dispatcher without GPUs and jobs.
func New(m Mind, o *Options) (*Dispatcher, error) {
	if m == nil {
		return nil, errors.New("dispatch: there is no Mind; a colloc.Planner is one")
	}
	d := &Dispatcher{mind: m, jobs: map[string]*entry{}, lives: map[uint64]*run{}, cards: map[string]*card{}, users: map[string]*user{}, floors: map[string]profile.Bytes{}}
	if o != nil {
		d.o = *o
	}
	if err := d.o.fill(); err != nil {
		return nil, err
	}
	var err error
	scheduler := d.o.Scheduler
	d.online, err = m.Scheduler(nil, &scheduler)
	return d, err
}

// put changes a value so that it can be undone.
func put[T any](d *Dispatcher, at *T, v T) {
	old := *at
	*at = v
	d.undo = append(d.undo, func() { *at = old })
}

// set changes a map so that it can be undone.
func set[K comparable, V any](d *Dispatcher, m map[K]V, k K, v V) {
	old, had := m[k]
	m[k] = v
	d.undo = append(d.undo, func() {
		if had {
			m[k] = old
		} else {
			delete(m, k)
		}
	})
}

// unset deletes from a map so that it can be undone.
func unset[K comparable, V any](d *Dispatcher, m map[K]V, k K) {
	old := m[k]
	delete(m, k)
	d.undo = append(d.undo, func() { m[k] = old })
}

// later tells online something once all events of a call are taken in, that may change who starts.
func (d *Dispatcher) later(op func() error) {
	if !d.stale {
		put(d, &d.stale, true)
	}
	d.quietly(op)
}

// quietly tells online something that by itself is no reason to decide anew.
func (d *Dispatcher) quietly(op func() error) { d.ops = append(d.ops, op) }

// clock moves the time on.
func (d *Dispatcher) clock(at time.Duration) error {
	if at < 0 || d.begun && at < d.now {
		return fmt.Errorf("dispatch: %w: %v; want %v or later", ErrTime, at, max(0, d.now))
	}
	return nil
}

// job finds a job that is not over.
func (d *Dispatcher) job(id string) (*entry, error) {
	if e := d.jobs[id]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("%w job", ErrUnknown)
}

// life finds a run of a job that is not over.
func (d *Dispatcher) life(job string, number uint64) (*entry, *run, error) {
	r := d.lives[number]
	switch {
	case r != nil && r.job == job:
		return d.jobs[job], r, nil
	case number == 0 || number > d.runs:
		return nil, nil, fmt.Errorf("%w run %d", ErrUnknown, number)
	}
	return nil, nil, fmt.Errorf("%w: run %d is over", ErrLate, number)
}

// card finds a GPU.
func (d *Dispatcher) card(id string) (*card, error) {
	if c := d.cards[id]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%w GPU", ErrUnknown)
}

// enter puts a job into the books.
func (d *Dispatcher) enter(e *entry) {
	e.seq = d.seqs
	put(d, &d.seqs, d.seqs+1)
	set(d, d.jobs, e.ID, e)
	put(d, &d.order, append(d.order, e))
	d.user(e.User)
	if len(e.After) > 0 {
		put(d, &d.waits, d.waits+1)
	}
}

// drop takes a job out of the books that online does not know any more, and settles what
// waits for it.
func (d *Dispatcher) drop(e *entry, how How) {
	if len(e.After) > 0 {
		put(d, &d.waits, d.waits-1)
	}
	put(d, &e.gone, true)
	put(d, &d.dead, d.dead+1)
	unset(d, d.jobs, e.ID)
	if d.waits == 0 {
		return
	}
	for _, o := range d.order {
		if o.gone || o.over != 0 {
			continue
		}
		at := slices.IndexFunc(o.After, func(a Dependency) bool { return a.Job == e.ID })
		switch {
		case at < 0:
		case how == Done || o.After[at].Any:
			put(d, &o.After, slices.Concat(o.After[:at], o.After[at+1:]))
			if len(o.After) == 0 {
				put(d, &d.waits, d.waits-1)
			}
			d.sync(o)
		default:
			d.giveUp(o, fmt.Sprintf("it comes after job %q, which did not do its work: %v", e.ID, how))
		}
	}
}

// giveUp ends a job that does not run and will not.
func (d *Dispatcher) giveUp(e *entry, why string) {
	id := e.ID
	d.later(func() error { return d.online.Withdraw(id) })
	put(d, &d.losses, append(slices.Clip(d.losses), Action{Verb: GiveUp, Job: id, Why: why}))
	d.drop(e, Failed)
}

// sync tells online whether a job may start.
func (d *Dispatcher) sync(e *entry) {
	want := !d.ready(e)
	if want == e.parked || e.over != 0 {
		return
	}
	put(d, &e.parked, want)
	id := e.ID
	d.later(func() error {
		if want {
			return d.online.Hold(id)
		}
		return d.online.Release(id)
	})
}

// begin puts a run into the books.
func (d *Dispatcher) begin(e *entry, r *run) {
	r.user = e.User
	set(d, d.lives, r.number, r)
	for _, id := range r.gpus {
		if c := d.cards[id]; c != nil {
			r.on = append(r.on, c)
			put(d, &c.runs, append(slices.Clip(c.runs), r))
		}
	}
	if phase := r.phase; phase != granted {
		r.phase = ended
		d.alter(r, func() { r.phase = phase })
	}
}

// end takes a run out of the books.
func (d *Dispatcher) end(e *entry, r *run) {
	unset(d, d.lives, r.number)
	if r.phase == stopping {
		put(d, &d.leaves, without(d.leaves, r))
	}
	d.ran(r)
	d.unpin(e, r)
	d.alter(r, func() { put(d, &r.phase, ended) })
	for _, c := range r.on {
		put(d, &c.runs, without(c.runs, r))
	}
	if e.run == r {
		put(d, &e.run, nil)
	}
}

// leave lets a run that the body knows stop.
func (d *Dispatcher) leave(e *entry, r *run, why string) {
	d.alter(r, func() {
		put(d, &r.vain, r.phase == starting)
		put(d, &r.phase, stopping)
	})
	put(d, &r.due, d.now) // it is asked for at the next decision
	put(d, &r.why, why)
	d.unpin(e, r)
	put(d, &d.leaves, append(slices.Clip(d.leaves), r))
	if e.run == r {
		put(d, &e.run, nil)
	}
}

// lingers reports whether a run of a job is still to end.
func (d *Dispatcher) lingers(id string) bool {
	return slices.ContainsFunc(d.leaves, func(r *run) bool { return r.job == id })
}

func without[T comparable](list []T, x T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(y T) bool { return x == y })
}
