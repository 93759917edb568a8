package usage

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"example.com/colloc/colloc/cmd/internal/cli"
)

// Error is input that is wrong, as opposed to something that failed.
type Error struct{ Err error }

// Error is that of Err.
func (e Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e Error) Unwrap() error { return e.Err }

// Wrong is a [Error].
func Wrong(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

// Parse reads the flags of one subcommand, whose help begins with about. operands is
// what follows the flags, for the help; how many there are the subcommand counts. With
// -h it prints the help to out and returns [flag.ErrHelp].
func Parse(f *flag.FlagSet, args []string, out io.Writer, operands, about string) error {
	switch err := cli.Parse(f, args); {
	case errors.Is(err, flag.ErrHelp):
		if operands != "" {
			operands = " " + operands
		}
		cli.Explain(out, fmt.Sprintf("usage: colloc slurm %s [flags]%s\n\n%s\n\nflags:\n", f.Name(), operands, about), f, "")
		return err
	case err != nil:
		return Wrong("%w; see -h", err)
	}
	return nil
}
