package session

import (
	"context"
	"errors"
	"time"

	"example.com/colloc/examples/measure/internal/rig"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// watching is what was seen of the device during a run.
type watching struct {
	samples []nvmlx.Sample
	peaks   map[int]profile.Bytes // of processes, by PID
	err     error
}

// watch reads the device until a time. It is best effort: a run counts without
// samples too, and they are missing then.
func watch(ctx context.Context, r *rig.Rig, until time.Time, period time.Duration) watching {
	seen := watching{peaks: make(map[int]profile.Bytes)}
	clock := deadlineClock{Clock: r.Clock, end: until}
	if r.Source == nil {
		waiter := clock.NewWaiter()
		defer waiter.Stop()
		_ = waiter.Wait(ctx, until) // fails if ctx ends, which others notice
		return seen
	}
	sampler := nvmlx.NewSampler(r.Source, &nvmlx.SamplerConfig{
		Clock: clock, Every: period, Fields: nvmlx.FieldsBasic | nvmlx.FieldsGPM, Devices: []nvmlx.DeviceID{r.Device.ID},
	})
	err := sampler.Run(ctx, func(s nvmlx.Sample) {
		seen.samples = append(seen.samples, s)
		list, _ := r.Processes(ctx) // best effort
		for _, p := range list {
			if used, ok := p.MemUsed.Get(); ok {
				seen.peaks[p.PID] = max(seen.peaks[p.PID], used)
			}
		}
	})
	if !errors.Is(err, errDeadline) {
		seen.err = err
	}
	return seen
}

// errDeadline ends a sampler on a deadlineClock.
var errDeadline = errors.New("deadline")

// deadlineClock is a clock that stops at an end: whoever waits for a later time
// gets errDeadline then.
type deadlineClock struct {
	nvmlx.Clock
	end time.Time
}

func (c deadlineClock) NewWaiter() nvmlx.Waiter {
	return deadlineWaiter{Waiter: c.Clock.NewWaiter(), end: c.end}
}

type deadlineWaiter struct {
	nvmlx.Waiter
	end time.Time
}

func (w deadlineWaiter) Wait(ctx context.Context, t time.Time) error {
	if !t.After(w.end) {
		return w.Waiter.Wait(ctx, t)
	}
	if err := w.Waiter.Wait(ctx, w.end); err != nil {
		return err
	}
	return errDeadline
}
