package cli

import (
	"errors"
	"fmt"
	"io"

	"example.com/colloc/internal/plain"
)

// ErrUsage says that what was asked for is wrong, not the program or the machine.
var ErrUsage = errors.New("wrong input")

// Usage is an error that is [ErrUsage].
func Usage(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUsage, fmt.Errorf(format, args...))
}

// Exit says on w why a command failed, if it did, and returns its exit status: 2 for
// [ErrUsage], 1 for anything else.
func Exit(w io.Writer, command string, err error) int {
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(w, command+":", plain.Text(err.Error())) // there is nobody to tell
	if errors.Is(err, ErrUsage) {
		return 2
	}
	return 1
}
