package dispatch

import (
	"errors"
	"fmt"
)

// What can be wrong with an event. Tell returns an [*EventError] around one of them.
var (
	// ErrInvalid: a value is out of its range.
	ErrInvalid = errors.New("invalid")
	// ErrUnknown: no job or GPU of that name is known.
	ErrUnknown = errors.New("unknown")
	// ErrDuplicate: the name is in use, or the event came before.
	ErrDuplicate = errors.New("duplicate")
	// ErrLate: the run is over. What says that such a run lives must be stopped by the body.
	ErrLate = errors.New("late")
	// ErrTime: the time is before that of an earlier call.
	ErrTime = errors.New("time runs backwards")
	// ErrState: a state cannot be restored.
	ErrState = errors.New("bad state")
)

// Stale reports whether an event was only too late to matter: it came twice, or is about a run, a job
// or a GPU that is gone. Bodies that cannot rule that out go on.
func Stale(err error) bool {
	return errors.Is(err, ErrLate) || errors.Is(err, ErrDuplicate) || errors.Is(err, ErrUnknown)
}

// EventError is the first event of a call of Tell that could not be taken in. Nothing of the
// call was.
type EventError struct {
	// Index counts the events of the call from 0.
	Index int
	Event Event
	// Name is the job, GPU or user.
	Name string
	Err  error
}

// Error implements error.
func (e *EventError) Error() string {
	return fmt.Sprintf("dispatch: event %d, %T of %q: %v", e.Index, e.Event, e.Name, e.Err)
}

// Unwrap returns Err.
func (e *EventError) Unwrap() error { return e.Err }
