package dispatch

import (
	"fmt"
	"slices"
	"time"
)

// Reservation keeps a GPU for some jobs from From until Until; 0 is without end. Those are the jobs of
// User that carry Label, one of which may be empty; with neither nobody starts there. A job that is
// told to take longer does not start there before, nor is what runs stopped.
type Reservation struct {
	User  string        `json:"user,omitempty"`
	Label string        `json:"label,omitempty"`
	From  time.Duration `json:"from_ns,omitempty"`
	Until time.Duration `json:"until_ns,omitempty"`
}

func (r *Reservation) check() error {
	if r.From < 0 || r.Until < 0 || r.Until > 0 && r.Until <= r.From {
		return fmt.Errorf("%w: it is reserved from %v until %v", ErrInvalid, r.From, r.Until)
	}
	return nil
}

// has reports whether a reservation is for a job.
func (r *Reservation) has(j *Job) bool {
	return (r.User != "" || r.Label != "") && (r.User == "" || r.User == j.User) && (r.Label == "" || slices.Contains(j.Labels, r.Label))
}

func (e Reserved) apply(d *Dispatcher) error {
	c, err := d.card(e.GPU)
	if err != nil {
		return err
	}
	for i := range e.For {
		if err := e.For[i].check(); err != nil {
			return err
		}
	}
	put(d, &c.reserved, slices.Clone(e.For))
	d.booking(c)
	d.reforbid()
	return nil
}

// booking notes whether a GPU is reserved.
func (d *Dispatcher) booking(c *card) {
	booked := without(d.booked, c)
	if len(c.reserved) > 0 && d.cards[c.gpu.ID] == c {
		booked = append(booked, c)
	}
	put(d, &d.booked, booked)
}

// reforbid looks anew at where jobs must not start.
func (d *Dispatcher) reforbid() {
	for _, j := range d.order {
		if !j.gone {
			d.forbid(j)
		}
	}
}

// keeps is the reservation that keeps a GPU from a job now, or nil.
func (d *Dispatcher) keeps(c *card, j *Job) *Reservation {
	var by *Reservation
	for i := range c.reserved {
		r := &c.reserved[i]
		switch now := d.now >= r.From; {
		case r.Until > 0 && d.now >= r.Until:
		case r.has(j):
			if now {
				return nil
			}
		case now || j.Left.Or(0) > r.From-d.now:
			by = r
		}
	}
	return by
}

// windows forgets reservations that are over, and looks anew at who may start where.
func (d *Dispatcher) windows() {
	if len(d.booked) == 0 {
		return
	}
	for _, c := range slices.Clone(d.booked) {
		c.reserved = slices.DeleteFunc(slices.Clone(c.reserved), func(r Reservation) bool { return r.Until > 0 && d.now >= r.Until })
		d.booking(c)
	}
	d.reforbid()
}

// forbid tells online where a job must not start: where that was refused, where the body says so, and
// where it is reserved for others.
func (d *Dispatcher) forbid(j *entry) {
	if j.over != 0 {
		return
	}
	var shuns []int
	forbidden := func(c *card) {
		if c != nil {
			shuns = append(shuns, c.index)
		}
	}
	for _, s := range j.shuns {
		if s.Until > d.now {
			forbidden(d.cards[s.GPU])
		}
	}
	for _, id := range j.bars {
		forbidden(d.cards[id])
	}
	for _, c := range d.booked {
		if d.keeps(c, &j.Job) != nil {
			forbidden(c)
		}
	}
	slices.Sort(shuns)
	if shuns = slices.Compact(shuns); slices.Equal(shuns, j.shunned) {
		return
	}
	put(d, &j.shunned, shuns)
	id := j.ID
	d.later(func() error { return d.online.Forbid(id, shuns...) })
}

// uncover forgets a GPU that is removed wherever a job must not go there.
func (d *Dispatcher) uncover(c *card) {
	d.booking(c)
	here := func(id string) bool { return id == c.gpu.ID }
	for _, j := range d.order {
		if _, there := slices.BinarySearch(j.shunned, c.index); j.gone || !there {
			continue
		}
		put(d, &j.bars, slices.DeleteFunc(slices.Clone(j.bars), here))
		put(d, &j.shuns, slices.DeleteFunc(slices.Clone(j.shuns), func(s shun) bool { return here(s.GPU) }))
		d.forbid(j)
	}
}
