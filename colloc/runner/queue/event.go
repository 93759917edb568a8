package queue

import (
	"time"

	"example.com/colloc/internal/enum"
	"example.com/colloc/nvmlx"
)

// EventKind says what happened.
type EventKind int

// The kinds of events.
const (
	// EventQueued: a task was submitted, or found in the queue when it was opened.
	EventQueued EventKind = iota
	// EventStarted: a run of a task has begun; Record tells GPU and prediction.
	EventStarted
	// EventAdopted: a task was found running when the queue was opened.
	EventAdopted
	// EventProgress: a task's step, memory peak or measured speed changed.
	EventProgress
	// EventRecovering: memory ran out; the task is queued again, see
	// [Record].Recovery.
	EventRecovering
	// EventRetry: a run failed or was lost; the task is queued again.
	EventRetry
	// EventFinished: a task is over; Record.State says how.
	EventFinished
	// EventLost: a GPU does not answer any more.
	EventLost
	// EventHalted: no further task starts, because of the runner's Halt.
	EventHalted
	// EventWarning: something that people should know; Text says what.
	EventWarning
	// EventFound: a GPU that was lost answers again.
	EventFound
	// EventOverrun: a task uses more memory than was reserved for it, once for each run;
	// then, Queued, it was stopped for that and is queued again, see the runner's Overrun.
	EventOverrun
	// EventStopped: a task was told to stop for others or to move, see [Task].Restart; then, Queued, it has
	// and waits again.
	EventStopped
)

// Event is something that happened. Kinds other than EventProgress arrive all,
// once, in the order in which they happened, after their transaction. Of the
// EventProgress of one task that wait for the listener only the last is kept.
// A listener that is slow delays the start of further tasks; it never loses
// events, and what waits for it is bounded by the runner's Config.Queue and the tasks.
type Event struct {
	// Kind is what happened, At when.
	Kind EventKind `json:"kind"`
	At   time.Time `json:"at"`
	// Record is the task after it; its zero if the event concerns none.
	Record Record `json:"record,omitzero"`
	// GPU is the device it concerns, if any.
	GPU nvmlx.DeviceID `json:"gpu,omitempty"`
	// Text says the same for people.
	Text string `json:"text"`
}

// String returns the name of the kind, such as "started".
func (k EventKind) String() string { return eventNames.Text(int(k)) }

// MarshalText writes what String returns; an undefined kind is an error.
func (k EventKind) MarshalText() ([]byte, error) { return eventNames.Marshal(int(k)) }

// UnmarshalText reads what MarshalText writes.
func (k *EventKind) UnmarshalText(name []byte) error { return enum.Parse(eventNames, name, k) }

//nolint:gochecknoglobals // a read-only table
var eventNames = enum.Of("queue: event",
	"queued", "started", "adopted", "progress", "recovering", "retry", "finished", "lost", "halted", "warning",
	"found", "overrun", "stopped")
