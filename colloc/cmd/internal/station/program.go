package station

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/station/api"
)

// The exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// command is a subcommand.
type command struct {
	name, short string
	operands    string // as the usage shows them
	run         func(*program, context.Context, []string) error
}

// program is the surroundings of a subcommand.
type program struct {
	streams cli.Streams
	now     func() time.Time
	command command
	socket  string
	asJSON  bool
	flags   func(*flag.FlagSet) // if set gets the flags of the subcommand, which then does nothing
}

// silentError ends with a status and says nothing more.
type silentError struct{ status int }

func (e silentError) Error() string { return fmt.Sprintf("status %d", e.status) }

// parse reads the flags of the subcommand, whose help begins with about. most is how many
// operands it takes at most, negative is any number.
func (p *program) parse(f *flag.FlagSet, args []string, about string, least, most int) error {
	f.StringVar(&p.socket, "socket", "", "talk to the station at the socket `FILE`; default is that of "+api.SocketVariable+", your own, or "+api.SystemSocket)
	if p.flags != nil {
		p.flags(f)
		return flag.ErrHelp
	}
	late := func(word string) bool { return len(word) > 1 && word[0] == '-' }
	switch err := cli.ParsePart(f, args, p.streams.Out, "station", p.command.operands, about); {
	case err != nil:
		return err
	case f.NArg() < least:
		return cli.Usage("want%s; see -h", p.command.operands)
	case p.command.name != "submit" && slices.ContainsFunc(f.Args(), late): // of submit it is the command's
		return cli.Usage("%q: flags come first: colloc station %s [flags]%s", f.Arg(slices.IndexFunc(f.Args(), late)), f.Name(), p.command.operands)
	case most >= 0 && f.NArg() > most:
		return cli.Usage("%q: nothing is expected here; see -h", f.Arg(most))
	}
	return nil
}

// set is a new set of flags with -json.
func (p *program) set() *flag.FlagSet {
	f := flag.NewFlagSet(p.command.name, flag.ContinueOnError)
	f.BoolVar(&p.asJSON, "json", false, "print JSON")
	return f
}

// client talks to the station.
func (p *program) client() *api.Client { return api.NewClient(p.socket) }

// json prints a value.
func (p *program) json(v any) error {
	e := json.NewEncoder(p.streams.Out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
