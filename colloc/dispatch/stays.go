package dispatch

import (
	"fmt"
	"slices"
)

func (e Stays) apply(d *Dispatcher) error {
	j, r, err := d.life(e.Job, e.Run)
	switch {
	case err != nil:
		return err
	case r.phase == running:
		return fmt.Errorf("%w: run %d runs, and was not asked to stop", ErrDuplicate, e.Run)
	case r.phase != stopping || !r.asked:
		return fmt.Errorf("%w run %d: it was not asked to stop yet", ErrUnknown, e.Run)
	}
	if r.vain {
		d.alter(r, func() { put(d, &r.vain, false) }) // it lives: it must say that it has gone
	}
	put(d, &r.stays, r.stays+1)
	wait := max(1, min(d.o.Shun<<min(r.stays-1, 20), maxShun))
	if !d.mayStay(j, r) {
		put(d, &r.due, d.now+wait)
		return nil
	}
	for _, c := range r.on {
		for _, o := range slices.Clone(c.runs) {
			if o.phase == granted {
				d.revoke(d.jobs[o.job], o)
			}
		}
	}
	if j.run != nil {
		d.revoke(j, j.run)
	}
	put(d, &d.leaves, without(d.leaves, r))
	d.alter(r, func() { put(d, &r.phase, running) })
	put(d, &r.asked, false)
	put(d, &r.until, d.now+wait)
	put(d, &j.run, r)
	if !slices.Contains(d.shy, j) {
		put(d, &d.shy, append(slices.Clip(d.shy), j))
	}
	at := make([]int, len(r.on))
	for i, c := range r.on {
		at[i] = c.index
	}
	d.later(func() error { return d.online.Resume(j.ID, at...) })
	d.later(func() error { return d.describe(j) })
	return nil
}

// mayStay reports whether a run that was to stop can go on: its job is wanted and has no other that the
// body knows of, and its GPUs are all there, with room in their sets.
func (d *Dispatcher) mayStay(j *entry, r *run) bool {
	if j.over != 0 || len(r.on) != j.Width() || j.run != nil && j.run.phase != granted {
		return false
	}
	return !slices.ContainsFunc(r.on, func(c *card) bool {
		stay := 0
		for _, o := range c.runs {
			if o.phase == starting || o.phase == running {
				stay++
			}
		}
		return c.failed || stay >= MostOnGPU
	})
}

// revoke takes back a start that the body was not asked for yet.
func (d *Dispatcher) revoke(j *entry, r *run) {
	d.end(j, r)
	d.later(func() error { return d.online.Return(j.ID) })
}

// unpin lets a run that ends or stops keep its job from nothing any more.
func (d *Dispatcher) unpin(j *entry, r *run) {
	if r.until > 0 {
		put(d, &r.until, 0)
		d.later(func() error { return d.describe(j) })
	}
}
