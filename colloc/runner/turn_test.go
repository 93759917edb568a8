//go:build linux

package runner

import (
	"context"
	"errors"
	"slices"
	"testing"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// lastFirst lets the last of the tasks that wait go first, one at a time, on the second
// GPU, and never the one that is called never.
type lastFirst struct{ placed []string }

func (l *lastFirst) Order(ready, _ []*Record) []int {
	order := []int{-1, len(ready)} // nonsense
	for i := range ready {
		order = append(order, len(ready)-1-i, len(ready)-1-i)
	}
	return order
}

func (l *lastFirst) Allow(r *Record) (avoid []nvmlx.DeviceID, why string) {
	if r.Task.ID == "never" {
		return nil, "it never may"
	}
	return []nvmlx.DeviceID{"GPU-fake-0"}, ""
}

func (l *lastFirst) Placed(r *Record) { l.placed = append(l.placed, r.Task.ID+" on "+r.On()) }

// Turns decide who starts, in which order and where not; with Serve the queue goes on
// when all is over; what is held waits.
func TestTurns(t *testing.T) {
	turns := &lastFirst{}
	ends := make(chan string, 16)
	g := newRig(t, t.TempDir(), gpuFile(2), func(c *Config) {
		c.PerGPU, c.Turns, c.Serve, c.Mechanisms = 1, turns, true, []profile.Mechanism{profile.Exclusive}
		c.OnEvent = func(e Event) {
			if e.Kind == EventFinished {
				ends <- e.Record.Task.ID
			}
		}
	})
	task := func(id string) Task { t := shell("true"); t.ID = id; return t }
	held := task("held")
	held.Held = true
	g.submit(t, task("never"), task("a"), task("b"), held)
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { done <- g.Run(ctx) }()
	got := []string{<-ends, <-ends}
	if err := g.Release("held"); err != nil {
		t.Fatal(err)
	}
	got = append(got, <-ends)
	if err := g.Hold("never"); err != nil {
		t.Fatal(err)
	}
	g.submit(t, task("late"))
	got = append(got, <-ends)
	if want := []string{"b", "a", "held", "late"}; !slices.Equal(got, want) {
		t.Errorf("tasks ended in the order %q, want %q", got, want)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v, want it to go on until it is told to stop", err)
	}
	if r := g.record(t, "never"); r.State != Queued || !r.Task.Held {
		t.Errorf("the task that never may is %v, held %v", r.State, r.Task.Held)
	}
	if want := []string{"b on GPU-fake-1", "a on GPU-fake-1", "held on GPU-fake-1", "late on GPU-fake-1"}; !slices.Equal(turns.placed, want) {
		t.Errorf("placed %q, want %q", turns.placed, want)
	}
	if err := g.Hold("nobody"); !errors.Is(err, ErrUnknown) {
		t.Errorf("Hold of a task that there is not: %v", err)
	}
}
