package slurm

import (
	"context"
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
			p := &program{client: slurm.NewClient(slurm.Config{}), stdin: s.In, stdout: s.Out, stderr: s.Err}
			return p.run(ctx, args)
		},
	}
	for _, part := range []struct{ name, short string }{
		{"new", "Write a sweep file from a command line"},
		{"add", "Put tasks into a sweep, also while it runs"},
		{"plan", "Print who should share which GPU, and why"},
		{"submit", "Plan, and submit the jobs"},
		{"watch", "Follow the jobs and learn from them"},
		{"advise", "Say which and how many GPUs a measured task should ask for"},
		{"decide", "Answer job_submit.lua"},
		{"shadow", "Look on, submit nothing, and report what sharing would have gained"},
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
		"new": p.make, "add": p.add, "advise": p.advise, "plan": p.plan, "submit": p.submit, "watch": p.follow, "decide": p.decide,
		"shadow": p.shadow,
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
		fmt.Fprintf(p.stderr, "colloc slurm: want new, add, plan, submit, watch, advise, decide or shadow, not %q; see -h\n", name)
		return 2
	}
	return cli.Exit(p.stderr, "colloc slurm "+name, command(ctx, args[1:]))
}

const help = `Slurm brings a sweep of training tasks to a Slurm cluster so that tasks which
get along share a GPU, and learns from how they ran.

usage: colloc slurm new|add|plan|submit|watch|advise|decide|shadow [flags]
(each explains itself with -h)

A sweep is a task file, as colloc profile writes it, with settings for Slurm:

  {
    "format": "colloc-tasks", "version": 1,
    "slurm": {
      "models": {"a100": "A100-40GB"},
      "partition": "main", "time": "2h", "log_dir": "logs", "setup": "module load cuda",
      "constraint": "nvlink", "qos": "normal", "requeue": true, "restart": "2m", "warn": "5m"
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
predicted or left open; a job without time or memory gets the site's defaults, a task
without cpus gets one. account and reservation may be given, too; warn is how long
before its end, and where the site does so before a preemption, a task gets "signal"
(USR1) to write a checkpoint, and restart is what it costs to go on from that when Slurm
starts the job again; "limit" is how many jobs of the sweep run at a time.

Tasks share GPUs, at most "most" (1 to 4) on one; "group" is their WANDB_RUN_GROUP,
"scratch" a folder of the node below which each gets one of its own, "gpu_memory" what a
GPU must have at least: the site's types and features say which do. A task with
"gpus": 4 has these for itself on each of "nodes", where "launch" starts one process
(node), torchrun, or one for each GPU (ranks). With "steps" the tasks are private job
steps of one allocation. "licenses" is that of sbatch. new writes such a file.

A site that offers gres/shard or gres/mps gets one job per task. If each GPU of a
node has a type of its own there (gpu:a100i0:1, gpu:a100i1:1, ...), a job can name
the very GPU. On other sites the tasks that share a GPU share one job.
`
