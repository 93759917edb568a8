package runner

import (
	"context"
	"errors"
)

// The conditions that callers tell apart with errors.Is.
var (
	// ErrUnsupported means that this system cannot run tasks.
	ErrUnsupported = errors.New("unsupported on this system")
	// ErrUnsupervised means that this process was started to supervise a task but
	// its main function does not begin with [Supervise].
	ErrUnsupervised = errors.New("main does not call runner.Supervise first")
	// ErrInUse means that another process has the queue file open.
	ErrInUse = errors.New("in use by another runner")
	// ErrCorrupt means that the queue file cannot be read; see [CorruptError].
	ErrCorrupt = errors.New("corrupt")
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

// CorruptError says that the queue file was damaged and where it is now. It is
// ErrCorrupt. The next Open starts with an empty queue.
type CorruptError struct {
	// Path is the queue file, Aside its new name.
	Path  string
	Aside string
	// Err is what is wrong with it.
	Err error
}

// Error names both files and what to do.
func (e *CorruptError) Error() string {
	return "runner: queue file " + e.Path + " is corrupt: " + e.Err.Error() +
		"; it was set aside as " + e.Aside + ", open again to start with an empty queue"
}

// Is makes errors.Is answer for ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns what is wrong.
func (e *CorruptError) Unwrap() error { return e.Err }

// Runner runs the tasks of one queue. It is safe for concurrent use.
type Runner struct{}

// Open opens the queue in [Config].Dir, or begins one, and takes over the tasks
// of a runner that died: those that run are adopted, those that ended meanwhile
// are recorded, runs that had not begun are queued again. No task starts before
// [Runner.Run].
//
// It returns every fault of the Config in one error; [ErrUnsupported],
// [ErrUnsupervised], [ErrInUse] and [ErrCorrupt] are told apart with errors.Is.
func Open(_ context.Context, _ Config) (*Runner, error) { return nil, ErrUnsupported }

// Submit adds tasks to the queue, all or none; when it returns they are
// recorded. It may be called at any time, also while Run runs. It returns their
// IDs, in order, or one error with every fault.
func (r *Runner) Submit(_ ...Task) ([]string, error) { return nil, ErrClosed }

// Run starts tasks as GPUs have room and returns when all are over: nil however
// they ended, see Records. It returns earlier, once nothing runs, with
// [ErrDrained] after Drain and with [ErrHalted] after too many failures. When ctx
// is done it returns ctx.Err() at once and starts nothing more; what runs goes
// on, for a later Run, or to be adopted after Close. One Run at a time.
func (r *Runner) Run(_ context.Context) error { return ErrClosed }

// Drain makes Run start no further task and return once those that run are
// over. The next Run goes on.
func (r *Runner) Drain() {}

// Kill ends tasks: SIGTERM to the process group of each that runs, SIGKILL
// after [Config].Grace; one that waits is cancelled. No IDs means all. It does
// not wait; a task that is over already is no error. ErrUnknown kills nothing.
func (r *Runner) Kill(_ ...string) error { return ErrClosed }

// Retry queues tasks again that failed or were cancelled, with fresh Retries,
// and forgets what was done for their memory. ErrUnknown changes nothing; a task
// that is not over, or succeeded, stays as it is.
func (r *Runner) Retry(_ ...string) error { return ErrClosed }

// Record returns what is known of one task. O(1).
func (r *Runner) Record(_ string) (Record, bool) { return Record{}, false }

// Records returns all tasks in the order of submission. O(tasks).
func (r *Runner) Records() []Record { return nil }

// GPUs returns the devices that the runner uses, in the source's order.
func (r *Runner) GPUs() []GPUState { return nil }

// Close stops all goroutines, delivers the events that wait and closes the
// queue file. Tasks that run go on and are adopted by the next Open: Kill and
// Run to their end first if that is not wanted. Closing twice is no error.
func (r *Runner) Close() error { return nil }

// Supervise turns this process into the supervisor of one task if a Runner
// started it for that, and then does not return. Otherwise it does nothing. Call
// it first in main, before flags are read, and in TestMain.
func Supervise() {}
