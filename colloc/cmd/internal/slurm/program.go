package slurm

import (
	"context"
	"errors"
	"flag"
	"io"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/shadow"
	"example.com/colloc/colloc/cmd/internal/slurm/decisions"
	"example.com/colloc/colloc/cmd/internal/slurm/front"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/site"
)

// program is the surroundings of a run, which tests replace.
type program struct {
	client         *slurm.Client
	runner         slurm.Runner // of scontrol token; nil is the machine's
	stdin          io.Reader
	stdout, stderr io.Writer
	every, slowest time.Duration       // between two looks, when something changes and when nothing does; 0 is a second and half a minute
	clock          func() time.Time    // nil is time.Now
	flags          func(*flag.FlagSet) // if set gets the flags of the subcommand, which then does nothing
}

func (p *program) now() time.Time {
	if p.clock != nil {
		return p.clock()
	}
	return time.Now()
}

func (p *program) decide(_ context.Context, args []string) error {
	return decisions.Decide(p.parseAll, args, p.now(), p.stdout)
}

func (p *program) make(_ context.Context, args []string) error {
	return front.New(p.parseAll, args, p.stdin, p.stdout)
}

func (p *program) add(_ context.Context, args []string) error {
	return front.Add(p.parseAll, args, p.stdin, p.stdout)
}

func (p *program) advise(ctx context.Context, args []string) error {
	return front.Advise(ctx, p.parseAll, args, p.client, p.now(), p.stdout)
}

// parseAll reads the flags of one subcommand, whose help begins with about, and what may follow
// them.
func (p *program) parseAll(f *flag.FlagSet, args []string, operands, about string) error {
	if p.flags != nil {
		p.flags(f)
		return flag.ErrHelp
	}
	return cli.ParsePart(f, args, p.stdout, "slurm", operands, about)
}

// parse is parseAll where nothing may follow the flags.
func (p *program) parse(f *flag.FlagSet, args []string, about string) error {
	if err := p.parseAll(f, args, "", about); err != nil {
		return err
	}
	if f.NArg() != 0 {
		return cli.Usage("%d operands, want 0; see -h", f.NArg())
	}
	return nil
}

const aboutShadow = `Shadow looks on: each round it asks Slurm for jobs and nodes, and says what colloc
would do with what waits. ` + shadow.About + `

What jobs do comes from Prometheus (dcgm-exporter), where -prometheus names it: from series that
name the job (hpc_job), or those of nodes that a job has to itself.`

// shadow looks on and changes nothing.
func (p *program) shadow(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("shadow", flag.ContinueOnError)
	var o shadow.Options
	o.Flags(f, "shadow.jsonl")
	c := shadow.Slurm{Now: p.now}
	rest := reachFlags(f)
	f.StringVar(&c.Prometheus, "prometheus", "", "ask the server at `URL` for the GPUs' use")
	f.StringVar(&c.Match, "match", "", "with -prometheus: narrow the series down, such as cluster=\"a\"")
	if err := p.parse(f, args, aboutShadow); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return cli.Usage("%w", err)
	}
	if err := p.through(rest); err != nil {
		return err
	}
	c.Client, c.Models, c.Interval = p.client, o.Models, o.Interval
	return o.Run(ctx, c.Look, cli.Streams{Out: p.stdout, Err: p.stderr})
}

// rest waits, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// failures are those of a command that looks again and again.
type failures struct {
	answered bool // Slurm did, once
	row      int  // that came one after the other since
}

// bears reports whether an error ends nothing: a controller that is away comes back, and whatever else Slurm says, such
// as half an answer of one that was just ended, is believed when it says so again and again. What is wrong from the start
// is the user's.
func (f *failures) bears(err error) bool {
	const most = 5
	if err == nil {
		*f = failures{answered: true}
		return true
	}
	f.row++
	var said *site.Error
	return errors.Is(err, site.ErrNoCluster) || f.answered && f.row <= most && errors.As(err, &said)
}
