package slurm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/slurm"
)

// Program is colloc slurm.
func Program() cli.Program {
	program := cli.Program{
		Name: "slurm", Short: "Bring a sweep to a Slurm cluster",
		Run: func(ctx context.Context, args []string, s cli.Streams) int {
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
			defer stop()
			p := &program{client: slurm.NewClient(slurm.Config{}), stdout: s.Out, stderr: s.Err}
			return p.run(ctx, args)
		},
	}
	for _, part := range []struct{ name, short string }{
		{"plan", "Print who should share which GPU, and why"},
		{"submit", "Plan, and submit the jobs"},
		{"watch", "Follow the jobs and learn from them"},
		{"decide", "Answer job_submit.lua"},
	} {
		program.Parts = append(program.Parts, cli.Program{Name: part.name, Short: part.short, Flags: func() *flag.FlagSet { return flagsOf(part.name) }})
	}
	return program
}

// flagsOf returns the flags of a subcommand.
func flagsOf(name string) (flags *flag.FlagSet) {
	p := &program{flags: func(f *flag.FlagSet) { flags = f }}
	_ = p.commands()[name](context.Background(), nil) // says ErrHelp
	return flags
}

func (p *program) commands() map[string]func(context.Context, []string) error {
	return map[string]func(context.Context, []string) error{
		"plan": p.plan, "submit": p.submit, "watch": p.follow, "decide": p.decide,
	}
}

func (p *program) run(ctx context.Context, args []string) int {
	name := ""
	if len(args) > 0 {
		name = strings.TrimLeft(args[0], "-")
	}
	if name == "h" || name == "help" {
		fmt.Fprint(p.stdout, help)
		return 0
	}
	command, ok := p.commands()[name]
	if !ok {
		fmt.Fprintf(p.stderr, "colloc slurm: want plan, submit, watch or decide, not %q; see -h\n", name)
		return 2
	}
	err := command(ctx, args[1:])
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(p.stderr, "colloc slurm %s: %v\n", name, err)
		return 2
	default:
		fmt.Fprintf(p.stderr, "colloc slurm %s: %v\n", name, err)
		return 1
	}
}

const help = `Slurm brings a sweep of training tasks to a Slurm cluster so that tasks which
get along share a GPU, and learns from how they ran.

usage: colloc slurm plan|submit|watch|decide [flags]     each explains itself with -h

A sweep is a task file, as colloc profile writes it, with settings for Slurm:

  {
    "format": "colloc-tasks", "version": 1,
    "slurm": {
      "models": {"a100": "A100-40GB"},
      "partition": "main", "time": "2h", "log_dir": "logs", "setup": "module load cuda",
      "constraint": "nvlink", "qos": "normal", "requeue": true, "warn": "5m"
    },
    "tasks": [{
      "id": "resnet-lr0.1",
      "command": ["python", "train.py", "--lr", "0.1"],
      "cpus": 4, "memory": "16GiB",
      "model": {"name": "resnet50"},
      "training": {"batch_size": 32},
      "solo": {"gpu": "A100-40GB", "gpu_busy": 0.45, "mem_busy": 0.2, "mem_used": "9GiB", "step_time": "120ms"}
    }]
  }

models says which product stands behind a type of the site's --gres. solo is what
was seen of the task alone on a GPU: gpu_busy and mem_busy are the two
utilisations of nvidia-smi as fractions; step_time, or run_time of the whole
task, is what its speed beside a neighbour is compared with. What is not given is
predicted or left open. account and reservation may be given, too; warn is how long
before its end a task gets USR1, to write a checkpoint.

A site that offers gres/shard or gres/mps gets one job per task. If each GPU of a
node has a type of its own there (gpu:a100i0:1, gpu:a100i1:1, ...), a job can name
the very GPU. On other sites the tasks that share a GPU share one job.
`
