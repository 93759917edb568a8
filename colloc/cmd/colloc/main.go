// Command colloc decides which GPU training tasks share a GPU, and runs them. Its
// subcommands are thin over the packages of colloc:
//
//	colloc profile -- COMMAND       a training alone, as a task file for the others
//	colloc describe FILE...         what is understood of model files
//	colloc plan FILE...             which tasks share which GPU, with a picture
//	colloc sweep -- COMMAND {}      a training program many times on the GPUs of this host
//	colloc station serve|submit|... the GPUs of this machine for all who work here
//	colloc slurm new|submit|...     sweeps on a Slurm cluster
//	colloc simulate -trace FILE     a trace under scheduling policies
//	colloc gain FILE...             what sharing would have gained a site, from its own past
//	colloc decide                   the HTTP API for schedulers in other languages
//	colloc gpuinfo                  the GPUs of this host and what holds them back
//	colloc version                  what was built
//	colloc completion bash|zsh|...  completes subcommands, flags and files
//
// Each explains itself with -h. Install it from a checkout, where go run would
// turn every exit status into 1:
//
//	go install ./colloc/cmd/colloc
//
// Exit status: that of the subcommand; 2 for a subcommand that there is not.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	_ "example.com/colloc/colloc/cmd/internal/atstart" // before the others
	"example.com/colloc/colloc/cmd/internal/burn"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/decide"
	"example.com/colloc/colloc/cmd/internal/describe"
	"example.com/colloc/colloc/cmd/internal/gain"
	"example.com/colloc/colloc/cmd/internal/gpuinfo"
	"example.com/colloc/colloc/cmd/internal/plan"
	"example.com/colloc/colloc/cmd/internal/probe"
	"example.com/colloc/colloc/cmd/internal/simulate"
	"example.com/colloc/colloc/cmd/internal/slurm"
	"example.com/colloc/colloc/cmd/internal/station"
	"example.com/colloc/colloc/cmd/internal/sweep"
	"example.com/colloc/colloc/runner"
)

func main() {
	runner.Supervise()
	os.Exit(run(context.Background(), os.Args[1:], cli.OS()))
}

// programs are the subcommands, as the help lists them.
func programs() []cli.Program {
	return []cli.Program{probe.Program(), describe.Program(), plan.Program(), sweep.Program(), station.Program(), slurm.Program(), simulate.Program(), gain.Program(), decide.Program(), gpuinfo.Program(), version(), burn.Program()}
}

// run is the program but for the process around it; it returns the exit status.
func run(ctx context.Context, args []string, s cli.Streams) int {
	cobra.EnableCommandSorting = false
	status := 0
	root := command(s, &status)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	if err := root.ExecuteContext(ctx); err != nil {
		root.PrintErrf("colloc: %v\n", err)
		return 2
	}
	return status
}

// command is the tree of all commands; running one sets *status.
func command(s cli.Streams, status *int) *cobra.Command {
	root := &cobra.Command{
		Use: "colloc", Short: "Decides which GPU training tasks share a GPU, and runs them.",
		Long: `Colloc decides which GPU training tasks share a GPU, and runs them.

Each command explains itself: colloc sweep -h. Completion in this shell:
  source <(colloc completion bash)`,
		Version: built(), SilenceErrors: true, SilenceUsage: true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	for _, p := range programs() {
		root.AddCommand(p.Command(s, status))
	}
	return root
}
