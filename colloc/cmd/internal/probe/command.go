package probe

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"example.com/colloc/colloc/cmd/internal/cli"
)

// Program is colloc profile.
func Program() cli.Program {
	return cli.Program{
		Name: "profile", Short: "Watch a training alone and write its task file",
		Run: func(ctx context.Context, args []string, s cli.Streams) int {
			signals := make(chan os.Signal, 4)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
			defer signal.Stop(signals)
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // who reads the output may go; the command goes on
			return run(ctx, args, s, signals)
		},
		Flags: new(options).flags, Files: true,
	}
}

const help = `Profile watches a training alone on a GPU for a while and writes what it saw into a
task file, which sweep, slurm, simulate, describe and quickstart read. What it could not
find out it says, and how to get it.

usage: colloc profile [flags] -- COMMAND...
       colloc profile [flags] -pid N

  colloc profile -- python train.py --batch-size 32
  colloc profile -time 2m -stop -model config.json -- python train.py

`

// run is the program but for the process around it; it returns the exit status.
func run(ctx context.Context, args []string, s cli.Streams, signals <-chan os.Signal) int {
	o := &options{}
	if err := o.parse(args, s.Out); err != nil {
		return cli.Exit(s.Err, "colloc profile", err)
	}
	status, err := o.watch(ctx, s, signals)
	if err != nil {
		fmt.Fprintln(s.Err, "colloc profile:", err)
	}
	return status
}
