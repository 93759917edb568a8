package grammar

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Flags adds -n, -p and -f, which say with a command which tasks there are. begin is called
// before each parameter; nil is nobody.
func (g *Grid) Flags(f *flag.FlagSet, begin func()) {
	f.Func("n", "each task `N` times; {} is 0 to N-1", func(s string) (err error) {
		if g.Repeats, err = strconv.Atoi(s); err != nil || g.Repeats < 1 || g.Repeats > MaxTasks {
			return fmt.Errorf("want 1 to %d", MaxTasks)
		}
		return nil
	})
	f.Func("p", "a parameter `NAME=LIST`; {NAME} is each value in turn", func(s string) error {
		p, err := ParseParam(s)
		if begin != nil {
			begin()
		}
		g.Params = append(g.Params, p)
		return err
	})
	f.StringVar(&g.File, "f", "", "read commands from `FILE`, one a line; - is standard input")
}

// Of returns every task of a command, or of the file of commands.
func (g *Grid) Of(command []string, stdin io.Reader) ([]Job, error) {
	switch {
	case len(command) == 0 && g.File == "":
		return nil, errors.New("no command: write it after --, or give a file of commands with -f")
	case len(command) > 0 && g.File != "":
		return nil, errors.New("a command and -f FILE: want one of them")
	case g.Shell && g.File == "":
		command = []string{strings.Join(command, " ")}
	}
	g.Templates = []Template{{Words: command}}
	if g.File != "" {
		var err error
		if g.Templates, err = readTemplates(g.File, stdin, g.Shell); err != nil {
			return nil, err
		}
	}
	return g.Jobs()
}
