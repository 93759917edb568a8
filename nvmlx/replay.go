package nvmlx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Replayer is a Source that plays a recording.
type Replayer struct {
	onDamage func(error)
	header   traceHeader

	mu      sync.Mutex
	lines   *lineReader
	devices map[DeviceID]*replayed
	pending traceRow // the row that was read ahead, if ahead
	ahead   bool
	err     error // why there are no more rows
}

// replayed is what is known of one device at the present moment.
type replayed struct {
	sample    Sample
	err       error // the outcome of a Read, in place of sample
	fresh     bool  // nobody has taken sample or err yet
	lost      error // for good
	processes *[]Process
	mig       *MIGInventory
}

var (
	_ Source        = (*Replayer)(nil)
	_ ProcessReader = (*Replayer)(nil)
	_ MIGReader     = (*Replayer)(nil)
)

// Replay reads what [Record] wrote and answers as the recorded source did. It
// reads the header at once and rows as they are needed: memory is O(devices),
// whatever the length of the recording.
//
// The recording stands at one moment. Each device shows its newest row up to
// there. A Read takes the device's row if nobody has yet, and else moves the
// moment on to the device's next row: the same calls in the same order get the
// same answers as when they were recorded, errors included. Rows that nobody reads
// pass unseen, as with a real device. Counters that a Read does not ask for are
// left out. Processes and MIG return what was last recorded up to the moment, or
// ErrNotSupported if that is nothing; they never move it.
//
// When a device has no more rows, Read returns io.EOF. A line that cannot be
// read, or is longer than 1 MiB, is an ErrDamaged that names its number; every Read
// that needs it, and all after, return it. With onDamage, which may be nil, a row
// that cannot be read is left out and onDamage told of it; the header and a line
// that is too long end the recording all the same. Errors are found when rows are
// reached, not by Replay. The Replayer does not close r.
func Replay(r io.Reader, onDamage func(error)) (*Replayer, error) {
	p := &Replayer{onDamage: onDamage, devices: map[DeviceID]*replayed{}, lines: newLineReader(r)}
	var err error
	if p.header, err = p.lines.header(); err != nil {
		return nil, err
	}
	for _, d := range p.header.Devices {
		p.devices[d.ID] = &replayed{}
	}
	return p, nil
}

// Info returns the software of the recorded host.
func (p *Replayer) Info(ctx context.Context) (SystemInfo, error) {
	return p.header.System, ctx.Err()
}

// Devices returns the devices of the recorded host.
func (p *Replayer) Devices(ctx context.Context) ([]DeviceInfo, error) {
	return append([]DeviceInfo(nil), p.header.Devices...), ctx.Err()
}

// Read returns the newest row of a device; see Replay for what that is.
// Amortised O(1) for each row that passes; allocates nothing for samples.
func (p *Replayer) Read(ctx context.Context, id DeviceID, what Fields) (Sample, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, err := p.find(ctx, id)
	if err != nil {
		return Sample{}, err
	}
	if err := p.step(ctx, d); err != nil {
		return Sample{}, err
	}
	d.fresh = false
	if d.err != nil {
		return Sample{}, fmt.Errorf("nvmlx: replay: read %s: %w", id, d.err)
	}
	sample := d.sample
	sample.Device = id
	sample.Keep(what)
	return sample, nil
}

// Processes returns the processes last recorded for a device.
func (p *Replayer) Processes(ctx context.Context, id DeviceID) ([]Process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, err := p.beside(ctx, id, func(r *traceRow) bool { return r.Processes != nil })
	if err != nil {
		return nil, err
	}
	if d.processes == nil {
		return nil, fmt.Errorf("nvmlx: replay: processes of %s were not recorded: %w", id, ErrNotSupported)
	}
	return append([]Process(nil), *d.processes...), nil
}

// MIG returns the instances last recorded for a GPU.
func (p *Replayer) MIG(ctx context.Context, id DeviceID) (MIGInventory, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, err := p.beside(ctx, id, func(r *traceRow) bool { return r.MIG != nil })
	if err != nil {
		return MIGInventory{}, err
	}
	if d.mig == nil {
		return MIGInventory{}, fmt.Errorf("nvmlx: replay: MIG of %s was not recorded: %w", id, ErrNotSupported)
	}
	inventory := *d.mig
	inventory.Instances = append([]MIGInstance(nil), inventory.Instances...)
	return inventory, nil
}

// Close ends the replay; calls after it return ErrUnavailable.
func (p *Replayer) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.devices = nil
	return nil
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
