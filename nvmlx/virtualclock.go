package nvmlx

import (
	"context"
	"slices"
	"sync"
	"time"
)

// VirtualClock is a Clock for programs that run faster than time, or slower: it
// stands still while anybody works and, once all its waiters wait, moves to the
// earliest moment that one of them waits for. With it a day of a recording plays
// in seconds, and no tick is ever late. It is safe for concurrent use.
type VirtualClock struct {
	mu      sync.Mutex
	now     time.Time
	waiters []*virtualWaiter
}

// NewVirtualClock returns a clock that stands at start.
func NewVirtualClock(start time.Time) *VirtualClock { return &VirtualClock{now: start} }

// Now returns where the clock stands.
func (c *VirtualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// NewWaiter adds a waiter: from now on, until its Stop, time passes only while
// it waits.
func (c *VirtualClock) NewWaiter() Waiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &virtualWaiter{clock: c, wake: make(chan struct{}, 1)}
	c.waiters = append(c.waiters, w)
	return w
}

// advance moves time if everybody waits. O(waiters).
func (c *VirtualClock) advance() {
	var next time.Time
	for i, w := range c.waiters {
		if !w.waiting {
			return
		}
		if i == 0 || w.until.Before(next) {
			next = w.until
		}
	}
	if len(c.waiters) == 0 {
		return
	}
	c.now = next
	for _, w := range c.waiters {
		if !w.until.After(next) {
			w.waiting = false
			w.wake <- struct{}{} // has room: one wake for each wait
		}
	}
}

type virtualWaiter struct {
	clock   *VirtualClock
	wake    chan struct{}
	until   time.Time
	waiting bool
}

func (w *virtualWaiter) Wait(ctx context.Context, t time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := w.clock
	c.mu.Lock()
	if !t.After(c.now) {
		c.mu.Unlock()
		return nil
	}
	w.until, w.waiting = t, true
	c.advance()
	c.mu.Unlock()
	select {
	case <-w.wake:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !w.waiting { // woken at the same moment
		<-w.wake
	}
	w.waiting = false
	return ctx.Err()
}

func (w *virtualWaiter) Stop() {
	c := w.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiters = slices.DeleteFunc(c.waiters, func(o *virtualWaiter) bool { return o == w })
	c.advance()
}
