// Command colloc decides which GPU training tasks share a GPU, and runs them. Its
// subcommands are thin over the packages of colloc:
//
//	colloc describe FILE...        what colloc understands of model files
//	colloc sweep -- COMMAND {}     a training program many times on the GPUs of this host
//	colloc slurm plan|submit|...   a sweep on a Slurm cluster
//	colloc simulate -trace FILE    a trace under scheduling policies
//	colloc gpuinfo                 the GPUs of this host and what holds them back
//	colloc version                 what was built
//
// Each explains itself with -h; colloc completion completes in the shell.
//
//	go install ./colloc/cmd/colloc
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"example.com/colloc/colloc/cmd/internal/describe"
	"example.com/colloc/colloc/cmd/internal/gpuinfo"
	"example.com/colloc/colloc/cmd/internal/simulate"
	"example.com/colloc/colloc/cmd/internal/slurm"
	"example.com/colloc/colloc/cmd/internal/sweep"
	"example.com/colloc/colloc/runner"
)

func main() {
	runner.Supervise()
	status := 0
	root := &cobra.Command{
		Use: "colloc", Short: "Decides which GPU training tasks share a GPU, and runs them",
		SilenceErrors: true, SilenceUsage: true,
	}
	add := func(use, short string, run func(args []string) int) {
		root.AddCommand(&cobra.Command{
			Use: use, Short: short, DisableFlagParsing: true,
			Run: func(_ *cobra.Command, args []string) { status = run(args) },
		})
	}
	add("describe", "Say what is understood of model files", func(args []string) int {
		return describe.Run(args, os.Stdout, os.Stderr)
	})
	add("sweep", "Run a training program many times on the GPUs of this host", func(args []string) int {
		return sweep.Run(args, os.Stdin, os.Stdout, os.Stderr)
	})
	add("slurm", "Bring a sweep to a Slurm cluster", func(args []string) int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		return slurm.Run(ctx, args, os.Stdout, os.Stderr)
	})
	add("simulate", "Replay a trace under scheduling policies", func(args []string) int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		return simulate.Run(ctx, args, os.Stdout, os.Stderr)
	})
	add("gpuinfo", "Show the GPUs of this host and what holds them back", func(args []string) int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop) // a second signal ends the program at once
		return gpuinfo.Run(ctx, args, os.Stdout, os.Stderr)
	})
	if err := root.Execute(); err != nil {
		root.PrintErrln("colloc:", err)
		status = 2
	}
	os.Exit(status)
}
