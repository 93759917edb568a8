package supervise

import (
	"errors"
	"slices"
	"syscall"
)

// The conditions that callers tell apart with errors.Is.
var (
	// ErrUnsupported means that this system cannot run commands.
	ErrUnsupported = errors.New("unsupported on this system")
	// ErrUnsupervised means that this process was started as a supervisor but its
	// main function does not begin with [Main].
	ErrUnsupervised = errors.New("main does not call runner.Supervise first")
	// ErrInUse means that another process has the folder.
	ErrInUse = errors.New("in use: a sweep or a station runs there")
	// ErrTaken means that the claim was made before.
	ErrTaken = errors.New("the run is claimed already")
)

// Crowded reports whether an error means that this process, or the host, has no room for
// another process or open file: it may have later.
func Crowded(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM}, func(e error) bool { return errors.Is(err, e) })
}
