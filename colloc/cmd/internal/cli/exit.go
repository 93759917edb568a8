package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"example.com/colloc/internal/plain"
)

// ErrUsage says that what was asked for is wrong, not the program or the machine.
var ErrUsage = errors.New("wrong input")

// usageError is one that is [ErrUsage].
type usageError struct{ error }

// Is reports whether target is [ErrUsage].
func (usageError) Is(target error) bool { return target == ErrUsage }

// Unwrap returns what is wrong.
func (e usageError) Unwrap() error { return e.error }

// Usage is an error that is [ErrUsage], and says what is wrong.
func Usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Exit says on w why a command failed, if it did, and returns its exit status: 2 for
// [ErrUsage], 1 for anything else. Who asked for help, [flag.ErrHelp], has got it.
func Exit(w io.Writer, command string, err error) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	_, _ = fmt.Fprintln(w, command+":", plain.Lines(err.Error())) // there is nobody to tell
	if errors.Is(err, ErrUsage) {
		return 2
	}
	return 1
}
