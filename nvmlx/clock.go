package nvmlx

import (
	"context"
	"time"
)

// Clock is time as the sampler and a replay see it. [SystemClock] is the
// machine's.
type Clock interface {
	// Now returns the present.
	Now() time.Time
	// NewWaiter returns a way to wait, for use by one goroutine at a time.
	NewWaiter() Waiter
}

// Waiter waits on the Clock that made it.
type Waiter interface {
	// Wait returns when the clock reads t or later, or ctx.Err() when ctx is
	// done first.
	Wait(ctx context.Context, t time.Time) error
	// Stop gives up the waiter. It must be called once.
	Stop()
}

// SystemClock returns the machine's clock. Its waiters do not allocate while
// they wait.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Now() time.Time {
	return time.Now() //nolint:forbidigo // this is where a clock comes from; everything else takes a Clock
}

func (systemClock) NewWaiter() Waiter {
	timer := time.NewTimer(0) //nolint:forbidigo // as above
	timer.Stop()
	return &systemWaiter{timer: timer}
}

type systemWaiter struct{ timer *time.Timer }

func (w *systemWaiter) Wait(ctx context.Context, t time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d := t.Sub(systemClock{}.Now())
	if d <= 0 {
		return nil
	}
	w.timer.Reset(d)
	select {
	case <-w.timer.C:
		return nil
	case <-ctx.Done():
		w.timer.Stop()
		return ctx.Err()
	}
}

func (w *systemWaiter) Stop() { w.timer.Stop() }
