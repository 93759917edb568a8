package nvmlx

import (
	"context"
	"errors"
	"fmt"
)

// find returns the state of a device that can still be read.
func (p *Replayer) find(ctx context.Context, id DeviceID) (*replayed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.devices == nil {
		return nil, fmt.Errorf("nvmlx: replay: read %s: closed: %w", id, ErrUnavailable)
	}
	d := p.devices[id]
	if d == nil {
		return nil, fmt.Errorf("nvmlx: replay: read %q: the recording has no such device: %w", id, ErrNoDevice)
	}
	return d, nil
}

// step moves the recording to the next row of d, unless d has a fresh one.
func (p *Replayer) step(ctx context.Context, d *replayed) error {
	for n := 0; !d.fresh && d.lost == nil; n++ {
		if n%1024 == 1023 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := p.peek(); err != nil {
			return err
		}
		p.apply()
	}
	if !d.fresh {
		p.repeat(d)
	}
	return nil
}

// repeat passes over the row, if it comes next, that tells again that d is lost.
func (p *Replayer) repeat(d *replayed) {
	for p.peek() == nil {
		reading := p.pending.isReading()
		if reading && p.devices[p.pending.Device] != d {
			return
		}
		p.apply()
		if reading {
			return
		}
	}
}

// beside takes over the next row of the device that is of the wanted kind, if
// there is one before the next reading.
func (p *Replayer) beside(ctx context.Context, id DeviceID, wanted func(*traceRow) bool) (*replayed, error) {
	d, err := p.find(ctx, id)
	if err != nil {
		return nil, err
	}
	for found := false; !found && p.peek() == nil && !p.pending.isReading(); {
		found = p.pending.Device == id && wanted(&p.pending)
		p.apply()
	}
	return d, nil
}

// peek makes the next row pending, if none is.
func (p *Replayer) peek() error {
	if p.ahead || p.err != nil {
		return p.err
	}
	p.err = p.row()
	p.ahead = p.err == nil
	return p.err
}

// row reads the next row, without those that onDamage leaves out.
func (p *Replayer) row() error {
	for {
		err := p.lines.row(&p.pending)
		if err == nil && p.devices[p.pending.Device] == nil {
			err = p.lines.fail(fmt.Errorf("device %q is not in the header", p.pending.Device))
		}
		if p.onDamage == nil || !errors.Is(err, ErrDamaged) || p.lines.scanner.Err() != nil {
			return err
		}
		p.onDamage(err)
	}
}

// apply makes the pending row part of the present.
func (p *Replayer) apply() {
	row := &p.pending
	p.ahead = false
	d := p.devices[row.Device]
	if d.lost != nil && row.isReading() {
		return
	}
	switch {
	case row.Processes != nil:
		d.processes = row.Processes
	case row.MIG != nil:
		d.mig = row.MIG
	case row.Event != nil:
	case row.Error != nil:
		d.fail(row.Error.err())
	default:
		d.sample, d.err, d.fresh = row.Sample, nil, true
	}
}

// fail makes err the outcome of the device's next Read.
func (d *replayed) fail(err error) {
	d.err, d.fresh = err, true
	if errors.Is(err, ErrDeviceLost) {
		d.lost = err
	}
}
