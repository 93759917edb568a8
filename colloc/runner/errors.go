package runner

import (
	"errors"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
)

// The conditions that callers tell apart with errors.Is.
var (
	// ErrInUse means that another process has the queue open.
	ErrInUse = supervise.ErrInUse
	// ErrElsewhere means that a task of the queue may still run on another host that
	// has the folder; see [Config].Gone.
	ErrElsewhere = errors.New("it runs on host")
	// ErrCorrupt means that the queue file cannot be read; see [CorruptError].
	ErrCorrupt = backlog.ErrCorrupt
	// ErrUnknown means that the queue has no task of that ID.
	ErrUnknown = errors.New("unknown task")
	// ErrDuplicate means that the queue has a task of that ID already.
	ErrDuplicate = errors.New("duplicate task")
	// ErrClosed means that the Runner was closed.
	ErrClosed = errors.New("closed")
	// ErrHalted means that failures ended the queue, see [Halt].
	ErrHalted = errors.New("halted after failures")
	// ErrDrained means that tasks are left in the queue because of Drain.
	ErrDrained = errors.New("drained with tasks left")
)

// CorruptError says that the queue file at Path was damaged, that it is at Aside now,
// and in Err what is wrong with it. It is ErrCorrupt. The next Open starts with an empty queue. Tasks of the old one that
// still run go on, and one that is submitted again, the same command with the same
// ID, is taken over and not run beside itself; so is one that succeeded meanwhile.
type CorruptError = backlog.CorruptError
