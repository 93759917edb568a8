package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Tell takes in what happened by a time: since any fixed moment, not before that of an earlier
// call. All events are taken in, in their order, or with an [*EventError] none.
func (d *Dispatcher) Tell(at time.Duration, events ...Event) error {
	if err := d.clock(at); err != nil {
		return err
	}
	d.undo, d.ops = d.undo[:0], d.ops[:0]
	put(d, &d.begun, true)
	put(d, &d.now, at)
	for i, e := range events {
		if e == nil {
			d.rollBack()
			return fmt.Errorf("dispatch: event %d: %w: it is nil", i, ErrInvalid)
		}
		if err := e.apply(d); err != nil {
			d.rollBack()
			return &EventError{Index: i, Event: e, Name: e.name(), Err: err}
		}
	}
	return d.commit()
}

// rollBack undoes what a call has changed.
func (d *Dispatcher) rollBack() {
	for _, undo := range slices.Backward(d.undo) {
		undo()
	}
	d.undo, d.ops = d.undo[:0], d.ops[:0]
}

// commit tells online what a call has changed. It was checked before, so that an error is a
// fault of the Mind.
func (d *Dispatcher) commit() error {
	var errs error
	if len(d.ops) > 0 { // what is told happens now
		errs = d.online.Advance(d.now)
	}
	for i := 0; i < len(d.ops); i++ { // some add others
		errs = errors.Join(errs, d.ops[i]())
	}
	clear(d.undo)
	clear(d.ops)
	d.undo, d.ops = d.undo[:0], d.ops[:0]
	if d.dead > 64 && d.dead > len(d.order)/2 {
		d.order = slices.DeleteFunc(d.order, func(e *entry) bool { return e.gone })
		d.dead = 0
	}
	return errs
}
