package nvmlx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"
)

// ReplayOptions change how a recording is played. The zero value, and nil, play
// it row by row, once.
type ReplayOptions struct {
	// Clock, if not nil, plays the recording against time: see Replay. It needs
	// recorded times.
	Clock Clock
	// Speed is how many recorded seconds pass in one second of Clock; 0 means 1.
	Speed float64
	// Loop starts the recording over at its end, with times that go on growing.
	// The reader must then be an io.Seeker.
	Loop bool
	// Faults happen in the first run through the recording.
	Faults []Fault
	// MaxLine is the length in bytes of the longest line that is accepted; 0
	// means 1 MiB.
	MaxLine int
	// OnDamage, if not nil, is told of each row that cannot be read, which is then
	// left out. A header that cannot be read and a line longer than MaxLine end the
	// recording all the same.
	OnDamage func(error)
}

// Fault is an error put into a replay.
type Fault struct {
	// Line is the line of the recording that does not arrive; the header is
	// line 1.
	Line int
	// Device is the device that fails; empty is the device of the line.
	Device DeviceID
	// Err is what the next Read of the device returns; nil is ErrDeviceLost. An
	// error that wraps ErrDeviceLost stays.
	Err error
}

func (o *ReplayOptions) check(r io.Reader) error {
	var errs []error
	if !(o.Speed >= 0) || math.IsInf(o.Speed, 0) {
		errs = append(errs, fmt.Errorf("nvmlx: replay: speed is %v, want a finite number above 0, or 0 for 1", o.Speed))
	}
	if o.MaxLine < 0 {
		errs = append(errs, fmt.Errorf("nvmlx: replay: longest line is %d bytes, want 0 or more", o.MaxLine))
	}
	if _, ok := r.(io.Seeker); o.Loop && !ok {
		errs = append(errs, errors.New("nvmlx: replay: looping needs a reader that can seek, such as a file"))
	}
	for i, f := range o.Faults {
		if f.Line < 2 {
			errs = append(errs, fmt.Errorf("nvmlx: replay: fault %d: line is %d, want 2 or more (line 1 is the header)", i, f.Line))
		}
	}
	return errors.Join(errs...)
}

// Replayer is a Source that plays a recording.
type Replayer struct {
	options ReplayOptions
	header  traceHeader

	mu      sync.Mutex
	in      io.Reader
	lines   *lineReader
	devices map[DeviceID]*replayed
	pending traceRow // the row that was read ahead, if ahead
	ahead   bool
	err     error // why there are no more rows
	lap     lap
	clock0  time.Time     // what the clock read when the recording began to play
	target  time.Duration // how much of the recording the clock wants played
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
// there. Without a clock, a Read takes the device's row if nobody has yet, and
// else moves the moment on to the device's next row: the same calls in the same
// order get the same answers as when they were recorded, errors included. With
// a clock, the moment follows it from the first Read on at the given speed, and
// a Read returns the newest row whatever was taken before. Either way moments at
// which nobody reads pass unseen, as with a real device. Counters that a Read
// does not ask for are left out. Processes and MIG return what was last recorded
// up to the moment, or ErrNotSupported if that is nothing; they never move it.
//
// When a device has no more rows, Read returns io.EOF. A line that cannot be
// read is an ErrDamaged that names its number; every Read that needs it, and all
// after, return it, unless OnDamage leaves it out. Errors are found when rows are
// reached, not by Replay. The Replayer does not close r.
func Replay(r io.Reader, o *ReplayOptions) (*Replayer, error) {
	p := &Replayer{in: r, devices: map[DeviceID]*replayed{}}
	if o != nil {
		p.options = *o
	}
	if err := p.options.check(r); err != nil {
		return nil, err
	}
	if p.options.Speed == 0 {
		p.options.Speed = 1
	}
	if p.options.MaxLine == 0 {
		p.options.MaxLine = 1 << 20
	}
	if seeker, ok := r.(io.Seeker); ok && p.options.Loop {
		offset, err := seeker.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, fmt.Errorf("nvmlx: replay: looping: %w", err)
		}
		p.lap.offset = offset
	}
	p.lines = newLineReader(r, p.options.MaxLine)
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
	if p.options.Clock == nil {
		err = p.step(ctx, d)
	} else {
		err = p.follow(ctx, d)
	}
	if err != nil {
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
