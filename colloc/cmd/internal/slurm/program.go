package slurm

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/slurm"
)

// program is the surroundings of a run, which tests replace.
type program struct {
	client         *slurm.Client
	stdout, stderr io.Writer
	watch          slurm.WatchOptions
	clock          func() time.Time    // nil is time.Now
	flags          func(*flag.FlagSet) // if set gets the flags of the subcommand, which then does nothing
}

func (p *program) now() time.Time {
	if p.clock != nil {
		return p.clock()
	}
	return time.Now()
}

// usageError is input that is wrong, as opposed to something that failed.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func wrong(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// parse reads the flags of one subcommand, whose help begins with about; with -1
// operands the subcommand counts them itself.
func (p *program) parse(f *flag.FlagSet, args []string, about string, operands int) error {
	if p.flags != nil {
		p.flags(f)
		return flag.ErrHelp
	}
	switch err := cli.Parse(f, args); {
	case errors.Is(err, flag.ErrHelp):
		cli.Explain(p.stdout, fmt.Sprintf("usage: colloc slurm %s [flags]%s\n\n%s\n\nflags:\n", f.Name(), map[int]string{-1: " TASK [UID]"}[operands], about), f, "")
		return err
	case err != nil:
		return wrong("%w; see -h", err)
	case operands >= 0 && f.NArg() != operands:
		return wrong("%d operands, want %d; see -h", f.NArg(), operands)
	}
	return nil
}
