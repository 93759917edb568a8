//go:build linux

package runner

import (
	"context"
	"sync"
	"time"

	"example.com/colloc/nvmlx"
)

// stepClock stands still until the test moves it.
type stepClock struct {
	mu   sync.Mutex
	time time.Time
}

func (c *stepClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time
}

// step moves the clock.
func (c *stepClock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(d)
}

func (c *stepClock) NewWaiter() nvmlx.Waiter { return c }

func (c *stepClock) Wait(ctx context.Context, _ time.Time) error {
	<-ctx.Done()
	return ctx.Err()
}

func (c *stepClock) Stop() {}
