package mailbox

import (
	"slices"
	"sync"

	"example.com/colloc/colloc/runner/queue"
)

// Box hands events to the listener, one after the other, in a goroutine
// of its own, so that nobody who holds a lock waits for it.
type Box struct {
	listener func(queue.Event)
	relieved func() // called when no event waits any more
	done     chan struct{}

	mu      sync.Mutex
	changed sync.Cond
	waiting []queue.Event
	latest  map[string]int // task -> its queue.EventProgress in waiting
	closed  bool
}

// New starts a box: relieved is called whenever no event waits any more.
func New(listener func(queue.Event), relieved func()) *Box {
	d := &Box{listener: listener, relieved: relieved, done: make(chan struct{}), latest: make(map[string]int)}
	d.changed.L = &d.mu
	go d.run()
	return d
}

// Push adds events. Progress replaces progress of the same task that waits,
// unless another event of the task came in between.
func (d *Box) Push(events []queue.Event) {
	if d.listener == nil || len(events) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = slices.Grow(d.waiting, len(events)) // of a submission there may be very many
	for i := range events {
		id := events[i].Record.Task.ID
		at, waits := d.latest[id]
		switch {
		case events[i].Kind != queue.EventProgress:
			delete(d.latest, id)
		case waits:
			d.waiting[at] = events[i]
			continue
		default:
			d.latest[id] = len(d.waiting)
		}
		d.waiting = append(d.waiting, events[i])
	}
	d.changed.Signal()
}

// Waiting is the number of events that wait.
func (d *Box) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting)
}

func (d *Box) run() {
	defer close(d.done)
	for {
		d.mu.Lock()
		for len(d.waiting) == 0 && !d.closed {
			d.changed.Wait()
		}
		events := d.waiting
		d.waiting = nil
		clear(d.latest)
		d.mu.Unlock()
		if len(events) == 0 {
			return
		}
		for i := range events {
			d.listener(events[i])
		}
		d.relieved()
	}
}

// Close delivers what waits and ends the goroutine.
func (d *Box) Close() {
	d.mu.Lock()
	d.closed = true
	d.changed.Signal()
	d.mu.Unlock()
	<-d.done
}
