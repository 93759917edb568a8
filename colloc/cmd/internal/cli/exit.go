package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

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

// longest is how much of an error is shown, in bytes.
const longest = 16 << 10

// Exit says on w why a command failed, if it did, and returns its exit status: 2 for
// [ErrUsage], 1 for anything else. Who asked for help, [flag.ErrHelp], has got it.
func Exit(w io.Writer, command string, err error) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	text := plain.Lines(err.Error())
	if n := len(text) - longest; n > 0 { // a word of a file that somebody made
		text = fmt.Sprintf("%s ... %d bytes are left out ... %s", strings.ToValidUTF8(text[:longest/2], ""), n, strings.ToValidUTF8(text[longest/2+n:], ""))
	}
	_, _ = fmt.Fprintln(w, command+":", text) // there is nobody to tell
	if errors.Is(err, ErrUsage) {
		return 2
	}
	return 1
}
