package nvmlx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// SamplerConfig says what a Sampler reads and when. The zero value, and nil,
// read everything once a second.
type SamplerConfig struct {
	// Clock is the time to go by; nil is SystemClock.
	Clock Clock
	// Every is the time between readings; 0 means one second. Below 100 ms GPM counters have
	// no values.
	Every time.Duration
	// Fields are the counters to read; 0 means FieldsAll.
	Fields Fields
	// Devices are the devices to read; nil means all that the source lists.
	Devices []DeviceID
	// OnEvent, if not nil, is told of device losses, late ticks and failures, by
	// the goroutine that calls the sink.
	OnEvent func(Event)
}

// Sampler reads devices at regular times. See Run.
type Sampler struct {
	source Source
	config SamplerConfig
}

// NewSampler returns a sampler of src. Faults of the configuration are reported
// by Run.
func NewSampler(src Source, config *SamplerConfig) *Sampler {
	s := &Sampler{source: src}
	if config != nil {
		s.config = *config
	}
	c := &s.config
	if c.Clock == nil {
		c.Clock = SystemClock()
	}
	if c.Every == 0 {
		c.Every = time.Second
	}
	if c.Fields == 0 {
		c.Fields = FieldsAll
	}
	return s
}

// waiting is how many samples wait for the sink before reading waits for it.
const waiting = 64

// item is what a device's goroutine hands to the sink.
type item struct {
	sample Sample
	event  *Event // instead of sample
}

// Run reads until ctx is done or no device is left, and calls sink with every
// sample, from the calling goroutine. Each device has a goroutine of its own; a
// device that hangs, fails or is lost does not delay the others. All goroutines
// have ended when Run returns, except that a call that hangs in the driver holds
// Run up, because such a call cannot be interrupted.
//
// Samples of one device come in order of time; those of different devices in the
// order in which they were read. A sample without a time gets the clock's, one
// without a window the time since the device's previous sample. A tick at which
// the device, or a slow sink, was still busy is skipped, not made up for:
// EventLate tells how many. A source that shows the same moment twice, as a
// slowed recording does, is passed on once.
//
// Counters that a device does not support are asked for once; those that need
// privilege once a minute. Their samples go on saying why they are missing. When
// a read fails, EventTrouble tells how often in a row, and the device is left
// alone for 1, 2, 4, ... 64 ticks. A device that is lost, or unknown, leaves with
// EventLost; ErrDamaged, which never passes, ends all.
//
// What was read before the end of ctx still reaches the sink. Run returns
// ctx.Err() if that ended it, else what ended the devices: nil if
// that was io.EOF, the end of a recording. Run may be called again, and several
// times at once. It allocates when it begins and for events, not for ticks.
func (s *Sampler) Run(ctx context.Context, sink func(Sample)) error {
	if s.config.Every < 0 {
		return fmt.Errorf("nvmlx: sampler: the time between readings is %v, want more than 0, or 0 for one second", s.config.Every)
	}
	ids, err := s.devices(ctx)
	if err != nil {
		return err
	}
	queue := make(chan item, waiting)
	ends := make([]error, len(ids))
	runs := make([]deviceRun, len(ids))
	start := s.config.Clock.Now()
	for i, id := range ids { // all waiters first: a virtual clock must not run ahead
		runs[i] = deviceRun{sampler: s, id: id, queue: queue, waiter: s.config.Clock.NewWaiter(), next: start}
	}
	var group sync.WaitGroup
	for i := range runs {
		group.Go(func() {
			defer runs[i].waiter.Stop()
			ends[i] = runs[i].run(ctx)
		})
	}
	go func() {
		group.Wait()
		close(queue)
	}()
	for it := range queue {
		switch {
		case it.event == nil:
			sink(it.sample)
		case s.config.OnEvent != nil:
			s.config.OnEvent(*it.event)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(slices.CompactFunc(ends, sameText)...)
}

// sameText reports whether two devices ended for one reason, as by a damaged
// recording.
func sameText(a, b error) bool { return a != nil && b != nil && a.Error() == b.Error() }

func (s *Sampler) devices(ctx context.Context) ([]DeviceID, error) {
	ids := s.config.Devices
	if ids == nil {
		list, err := s.source.Devices(ctx)
		if err != nil {
			return nil, fmt.Errorf("nvmlx: sampler: %w", err)
		}
		for _, d := range list {
			ids = append(ids, d.ID)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("nvmlx: sampler: nothing to read: %w", ErrNoDevice)
	}
	return ids, nil
}

// deviceRun is the sampling of one device.
type deviceRun struct {
	sampler *Sampler
	id      DeviceID
	queue   chan<- item
	waiter  Waiter

	next     time.Time // of the coming tick
	last     time.Time // of the last sample
	failures int       // in a row

	unsupported Fields
	denied      Fields
	retry       time.Time // when to ask for denied again
}

// retryDenied is how long a counter that needs privilege is left alone.
const retryDenied = time.Minute

// mostBackOff is the longest pause after failures, in ticks.
const mostBackOff = 64

// run reads until something ends it; that is nil for io.EOF.
func (r *deviceRun) run(ctx context.Context) error {
	for {
		if err := r.waiter.Wait(ctx, r.next); err != nil {
			return err
		}
		r.skipLate(ctx)
		r.next = r.next.Add(r.sampler.config.Every)
		if err := r.read(ctx); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// skipLate gives up ticks whose time has passed.
func (r *deviceRun) skipLate(ctx context.Context) {
	c := &r.sampler.config
	late := int(c.Clock.Now().Sub(r.next) / c.Every)
	if late <= 0 {
		return
	}
	r.next = r.next.Add(time.Duration(late) * c.Every)
	r.tell(ctx, Event{Kind: EventLate, Count: late})
}

// read makes one reading and hands it on. The error is what ends the device.
func (r *deviceRun) read(ctx context.Context) error {
	c := &r.sampler.config
	ask := c.Fields &^ r.unsupported
	if r.denied != 0 && c.Clock.Now().Before(r.retry) {
		ask &^= r.denied
	}
	sample, err := r.sampler.source.Read(ctx, r.id, ask)
	switch {
	case err == nil:
		r.failures = 0
	case ctx.Err() != nil, errors.Is(err, io.EOF), errors.Is(err, ErrDamaged):
		return err
	case errors.Is(err, ErrDeviceLost), errors.Is(err, ErrNoDevice), errors.Is(err, ErrUnavailable):
		r.tell(ctx, Event{Kind: EventLost, Err: err})
		return err
	default:
		r.failures++
		pause := min(1<<min(r.failures-1, 30), mostBackOff)
		r.next = r.next.Add(time.Duration(pause) * c.Every)
		r.tell(ctx, Event{Kind: EventTrouble, Count: r.failures, Err: err})
		return nil
	}
	r.learn(&sample, ask)
	if sample.At.IsZero() {
		sample.At = c.Clock.Now()
	}
	if !r.last.IsZero() {
		if !sample.At.After(r.last) {
			return nil
		}
		if sample.Window == 0 {
			sample.Window = sample.At.Sub(r.last)
		}
	}
	r.last = sample.At
	return r.send(ctx, item{sample: sample})
}

// learn notes which counters are in vain and says so for those not asked for.
func (r *deviceRun) learn(sample *Sample, ask Fields) {
	what := r.sampler.config.Fields
	r.unsupported |= sample.Missing.Fields(ErrNotSupported) & ask
	denied := sample.Missing.Fields(ErrPermission) & ask
	if r.denied&ask != 0 || denied != 0 {
		r.denied = r.denied&^ask | denied
		r.retry = r.sampler.config.Clock.Now().Add(retryDenied)
	}
	sample.Missing.Set(what&r.unsupported, ErrNotSupported)
	sample.Missing.Set(what&r.denied, ErrPermission)
}

// tell hands an event on.
func (r *deviceRun) tell(ctx context.Context, e Event) {
	if r.sampler.config.OnEvent == nil {
		return
	}
	e.Device, e.At = r.id, r.sampler.config.Clock.Now()
	_ = r.send(ctx, item{event: &e}) // fails if ctx is done, which the next wait finds
}

// send hands an item to the sink; it waits while the queue is full.
func (r *deviceRun) send(ctx context.Context, it item) error {
	select {
	case r.queue <- it:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
