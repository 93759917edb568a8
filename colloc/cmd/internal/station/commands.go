package station

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/station/api"
)

// Program is colloc station. Main has called runner.Supervise before it runs.
func Program() cli.Program {
	whole := cli.Program{
		Name: "station", Short: "Share the GPUs of this machine between the people who work here",
		Run: func(ctx context.Context, args []string, s cli.Streams) int {
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return (&program{streams: s, now: time.Now}).run(ctx, args)
		},
	}
	for _, c := range commands() {
		whole.Parts = append(whole.Parts, cli.Program{
			Name: c.name, Short: c.short, Files: c.name == "submit", Flags: func() *flag.FlagSet { return flagsOf(c) },
			Words: map[string]func() []string{
				"class": func() []string { return []string{"low", "normal", "high"} },
				"share": func() []string { return []string{"yes", "no"} },
			},
		})
	}
	return whole
}

func commands() []command {
	return []command{
		{"serve", "Run the station: take jobs and start them", "", (*program).serve},
		{"submit", "Queue a job, or a grid of them", " -- COMMAND...", (*program).submit},
		{"list", "List the jobs", "", (*program).list},
		{"show", "Tell all about a job: why it waits, who is beside it", " ID...", (*program).show},
		{"why", "Tell why a job waits, and when it is expected to start", " ID...", (*program).why},
		{"logs", "Print the output of a job", " ID", (*program).logs},
		{"wait", "Wait until jobs are over", " ID...", (*program).wait},
		{"cancel", "End jobs, or take them out of the queue", " ID...", (*program).cancel},
		{"requeue", "Run jobs again that failed or were cancelled", " ID...", (*program).requeue},
		{"hold", "Keep jobs from starting", " ID...", (*program).hold},
		{"release", "Let jobs start that were held", " ID...", (*program).release},
		{"top", "Show GPUs, users and queue as they are, again and again", "", (*program).top},
		{"status", "Show GPUs, users and queue as they are", "", (*program).status},
		{"account", "Tell what each user had, as CSV", "", (*program).account},
		{"shadow", "Look on, start nothing, and report what sharing would have gained", "", (*program).shadow},
		{"drain", "Let nothing start on some GPUs, or on all", " [GPU...]", (*program).drain},
		{"undrain", "Let jobs start again on some GPUs, or on all", " [GPU...]", (*program).undrain},
		{"reserve", "Keep GPUs for one user until a time", " GPU...", (*program).reserve},
	}
}

// flagsOf returns the flags of a subcommand.
func flagsOf(c command) (flags *flag.FlagSet) {
	p := &program{command: c, flags: func(f *flag.FlagSet) { flags = f }}
	_ = c.run(p, context.Background(), nil) // says ErrHelp
	return flags
}

// run runs one subcommand and returns the exit status.
func (p *program) run(ctx context.Context, args []string) int {
	name := ""
	if len(args) > 0 {
		name = strings.TrimLeft(args[0], "-")
	}
	if name == "h" || name == "help" || name == "" {
		fmt.Fprint(p.streams.Out, help())
		if name == "" {
			return exitUsage
		}
		return exitOK
	}
	all := commands()
	at := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if at < 0 {
		fmt.Fprintf(p.streams.Err, "colloc station: there is no command %q; colloc station -h lists them\n", name)
		return exitUsage
	}
	p.command = all[at]
	err := p.command.run(p, ctx, args[1:])
	var silent silentError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &silent):
		return silent.status
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	if errors.Is(err, &api.Error{Code: api.Invalid}) {
		err = cli.Usage("%w", err)
	}
	return cli.Exit(p.streams.Err, "colloc station "+name, err)
}

// help is what -h says.
func help() string {
	var b strings.Builder
	b.WriteString(`Station shares the GPUs of this machine between the people who work here. One
daemon takes everybody's jobs, starts them as GPUs have room, and lets several
share a GPU where they finish sooner that way. Jobs outlive it.

  colloc station serve &                             once; root's serves all users
  colloc station submit -- python train.py --lr 0.1  prints the job's number
  colloc station list                                what runs and what waits
  colloc station logs -f 1                           what it prints

usage: colloc station COMMAND [flags]     each explains itself with -h

`)
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-8s %s\n", c.name, c.short)
	}
	b.WriteString(`
exit status: 0 done; 1 it could not be done, or, of wait, a job did not succeed; 2
wrong usage; 130 interrupted
`)
	return b.String()
}
