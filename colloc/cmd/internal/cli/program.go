package cli

import (
	"context"
	"flag"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Streams are what a program reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// OS returns the streams of this process.
func OS() Streams { return Streams{os.Stdin, os.Stdout, os.Stderr} }

// Program is a subcommand that parses its own arguments.
type Program struct {
	Name, Short string
	// Run gets the arguments behind the name and returns the exit status. -h
	// explains on standard output and returns 0.
	Run func(ctx context.Context, args []string, s Streams) int
	// Flags returns what Run parses, for completion; nil is none. The name in the
	// usage of a flag says what it wants: a `FILE`, a `DIR`, or something else.
	Flags func() *flag.FlagSet
	// Words are the values of flags that take one of a few.
	Words map[string]func() []string
	// Files says that operands are files, or words of a command.
	Files bool
	// Hidden leaves it out of the help.
	Hidden bool
	// Parts are the subcommands of this one. One without Run is the whole with its
	// name as the first argument.
	Parts []Program
}

// Command makes the program a subcommand. Running it sets *status.
func (p Program) Command(s Streams, status *int) *cobra.Command {
	c := &cobra.Command{
		Use: p.Name, Short: p.Short, Hidden: p.Hidden, DisableFlagParsing: true, DisableFlagsInUseLine: true,
		Run:               func(c *cobra.Command, args []string) { *status = p.Run(c.Context(), args, s) },
		ValidArgsFunction: p.complete,
	}
	c.SetHelpFunc(func(*cobra.Command, []string) { *status = p.Run(context.Background(), []string{"-h"}, s) })
	for _, part := range p.Parts {
		if part.Run == nil {
			part.Run = func(ctx context.Context, args []string, s Streams) int {
				return p.Run(ctx, append([]string{part.Name}, args...), s)
			}
		}
		c.AddCommand(part.Command(s, status))
	}
	return c
}

// complete is what the shell is told about the next word.
func (p Program) complete(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if p.Flags == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.word(p.Flags(), args, word)
}

// word completes a flag, its value, or an operand.
func (p Program) word(flags *flag.FlagSet, args []string, word string) ([]string, cobra.ShellCompDirective) {
	operands := false // with the first one package flag stops to look for flags
	var open *flag.Flag
	for _, a := range args {
		name := strings.TrimLeft(a, "-")
		switch {
		case operands:
		case open != nil:
			open = nil
		case a == "--" || !strings.HasPrefix(a, "-"):
			operands = true
		case !strings.Contains(a, "="):
			if f := flags.Lookup(name); f != nil && !isBool(f) {
				open = f
			}
		}
	}
	switch {
	case open != nil:
		return p.value(open)
	case !operands && strings.HasPrefix(word, "-") && !strings.Contains(word, "="):
		return names(flags, word), cobra.ShellCompDirectiveNoFileComp
	case p.Files || strings.Contains(word, "="):
		return nil, cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// names lists the flags that begin like word, which has one dash or two.
func names(flags *flag.FlagSet, word string) []string {
	dashes := "-"
	if strings.HasPrefix(word, "--") {
		dashes = "--"
	}
	var all []string
	flags.VisitAll(func(f *flag.Flag) {
		_, usage := flag.UnquoteUsage(f)
		if strings.HasPrefix(dashes+f.Name, word) {
			all = append(all, cobra.CompletionWithDesc(dashes+f.Name, usage))
		}
	})
	return all
}

// value completes the value of a flag.
func (p Program) value(f *flag.Flag) ([]string, cobra.ShellCompDirective) {
	if words := p.Words[f.Name]; words != nil {
		return words(), cobra.ShellCompDirectiveNoFileComp
	}
	switch name, _ := flag.UnquoteUsage(f); name {
	case "FILE":
		return nil, cobra.ShellCompDirectiveDefault
	case "DIR":
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// isBool reports whether a flag takes no value of its own.
func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
