package nvmlx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// lap is one run through the recording and where its times lie.
type lap struct {
	offset      int64 // where the recording begins in its reader
	number      int   // from 0
	readings    int
	first, last time.Time // recorded times of this lap
	step        time.Duration
	shift       time.Duration // added to recorded times
}

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
	lap := p.lap.number
	for n := 0; !d.fresh && d.lost == nil; n++ {
		if n%1024 == 1023 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := p.peek(); err != nil {
			return err
		}
		if p.lap.number > lap+1 {
			return io.EOF // a whole lap without this device
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

// follow moves the recording to the clock's moment.
func (p *Replayer) follow(ctx context.Context, d *replayed) error {
	now := p.options.Clock.Now()
	if p.clock0.IsZero() {
		p.clock0 = now
	}
	p.target = time.Duration(min(float64(now.Sub(p.clock0))*p.options.Speed, float64(longest)))
	for n := 0; ; n++ {
		if n%1024 == 1023 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := p.peek(); err != nil {
			if d.fresh || d.lost != nil {
				err = nil // the end, or the fault, is behind this device's last row
			}
			return err
		}
		if p.pending.isReading() && p.played() > p.target {
			return nil
		}
		p.apply()
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

// played is how long the recording has to play until the pending row.
func (p *Replayer) played() time.Duration {
	return p.lap.shift + p.lap.last.Sub(p.lap.first)
}

// peek makes the next row pending, if none is.
func (p *Replayer) peek() error {
	if p.ahead || p.err != nil {
		return p.err
	}
	err := p.row()
	if errors.Is(err, io.EOF) && p.options.Loop && p.lap.readings > 0 {
		if err = p.rewind(); err == nil {
			err = p.row()
		}
	}
	if err != nil {
		p.err = err
		return err
	}
	p.ahead = true
	p.lap.see(&p.pending)
	return nil
}

// row reads the next row, without those that OnDamage leaves out.
func (p *Replayer) row() error {
	for {
		err := p.lines.row(&p.pending)
		if err == nil && p.devices[p.pending.Device] == nil {
			err = p.lines.fail(fmt.Errorf("device %q is not in the header", p.pending.Device))
		}
		if p.options.OnDamage == nil || !errors.Is(err, ErrDamaged) || p.lines.scanner.Err() != nil {
			return err
		}
		p.options.OnDamage(err)
	}
}

// see notes a reading and its time. Times that go backwards, as after a
// correction of the clock, stand still instead.
func (l *lap) see(row *traceRow) {
	if !row.isReading() {
		return
	}
	l.readings++
	at := row.At
	switch {
	case at.IsZero():
	case l.first.IsZero():
		l.first, l.last = at, at
	case at.After(l.last):
		l.step = at.Sub(l.last)
		l.last = at
	}
}

// longest bounds each part of a lap's shift, so that their sum does not overflow.
const longest = math.MaxInt64 / 4 * time.Nanosecond

// rewind starts the next lap. It begins one step after the last row, a second
// if the recording has only one moment.
func (p *Replayer) rewind() error {
	seeker, _ := p.in.(io.Seeker) // Replay has checked
	if _, err := seeker.Seek(p.lap.offset, io.SeekStart); err != nil {
		return fmt.Errorf("nvmlx: replay: looping: %w", err)
	}
	step := p.lap.step
	if step == 0 {
		step = time.Second
	}
	length := p.lap.last.Sub(p.lap.first)
	if length > longest || p.lap.shift > longest || step > longest {
		return io.EOF // a time.Duration cannot count further
	}
	length += step
	shift := p.lap.shift + length
	if ahead := (p.target - shift) / length; ahead > 1 { // laps that pass unseen end as this one did
		shift += (ahead - 1) * length
	}
	p.lap = lap{offset: p.lap.offset, number: p.lap.number + 1, shift: shift}
	p.lines = newLineReader(p.in, p.options.MaxLine)
	_, err := p.lines.header()
	return err
}

// apply makes the pending row part of the present.
func (p *Replayer) apply() {
	row := &p.pending
	p.ahead = false
	if p.lap.number == 0 && p.fault(row) {
		return
	}
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
		if !row.At.IsZero() {
			d.sample.At = row.At.Add(p.lap.shift)
		}
	}
}

// fault applies the faults of a row and reports whether the row is lost.
func (p *Replayer) fault(row *traceRow) bool {
	hit := false
	for _, f := range p.options.Faults {
		if f.Line != row.line {
			continue
		}
		if f.Device == "" {
			f.Device = row.Device
		}
		if f.Err == nil {
			f.Err = ErrDeviceLost
		}
		if d := p.devices[f.Device]; d != nil {
			d.fail(f.Err)
		}
		hit = hit || f.Device == row.Device
	}
	return hit
}

// fail makes err the outcome of the device's next Read.
func (d *replayed) fail(err error) {
	d.err, d.fresh = err, true
	if errors.Is(err, ErrDeviceLost) {
		d.lost = err
	}
}
