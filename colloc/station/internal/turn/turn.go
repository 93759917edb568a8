package turn

import (
	"maps"
	"sync"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
)

// Closing keeps jobs from starting on a GPU: those of all users, or of all but one.
type Closing struct {
	// Reserved says that it is for UID alone until Until; without, nobody starts there.
	Reserved bool      `json:"reserved,omitempty"`
	UID      uint32    `json:"uid,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

// Kept is what survives the daemon.
type Kept struct {
	Draining bool                       `json:"draining,omitempty"`
	Closed   map[nvmlx.DeviceID]Closing `json:"closed,omitempty"`
}

// Turns implements runner.Turns. It is safe for concurrent use.
type Turns struct {
	now func() time.Time

	mu   sync.Mutex
	kept Kept
}

// New goes on with what was kept.
func New(now func() time.Time, kept Kept) *Turns {
	t := &Turns{now: now, kept: kept}
	t.kept.Closed = maps.Clone(kept.Closed)
	if t.kept.Closed == nil {
		t.kept.Closed = make(map[nvmlx.DeviceID]Closing)
	}
	return t
}

// Keep returns what must survive the daemon.
func (t *Turns) Keep() Kept {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kept
	k.Closed = maps.Clone(t.kept.Closed)
	return k
}

// Drain lets nothing start any more, or lets things start again.
func (t *Turns) Drain(drain bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Draining = drain
}

// Close closes GPUs; nil opens them.
func (t *Turns) Close(how *Closing, ids ...nvmlx.DeviceID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if how == nil {
			delete(t.kept.Closed, id)
		} else {
			t.kept.Closed[id] = *how
		}
	}
}

// Closed returns how a GPU is closed; nil if it is not, or not any more.
func (t *Turns) Closed(id nvmlx.DeviceID) *Closing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed(id)
}

func (t *Turns) closed(id nvmlx.DeviceID) *Closing {
	c, ok := t.kept.Closed[id]
	if !ok {
		return nil
	}
	if c.Reserved && !t.now().Before(c.Until) {
		delete(t.kept.Closed, id)
		return nil
	}
	return &c
}

// Order implements runner.Turns.
func (t *Turns) Order(ready, _ []*queue.Record) []int {
	order := make([]int, len(ready))
	for i := range order {
		order[i] = i
	}
	return order
}

// Allow implements runner.Turns.
func (t *Turns) Allow(r *queue.Record) (avoid []nvmlx.DeviceID, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept.Draining {
		return nil, "the station drains: nothing starts any more"
	}
	for id := range t.kept.Closed {
		if c := t.closed(id); c != nil && (!c.Reserved || c.UID != uid(r)) {
			avoid = append(avoid, id)
		}
	}
	return avoid, ""
}

// Placed implements runner.Turns.
func (t *Turns) Placed(*queue.Record) {}

// uid is whose a job is.
func uid(r *queue.Record) uint32 {
	if r.Task.Owner == nil {
		return 0
	}
	return r.Task.Owner.UID
}

// String says for people how a GPU is closed.
func (c *Closing) String() string {
	if c.Reserved {
		return "reserved until " + c.Until.Format(time.DateTime)
	}
	return "drained"
}
