package slurm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"example.com/colloc/colloc/slurm"
)

// Run is the command; it returns the exit status.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p := &program{client: slurm.NewClient(slurm.Config{}), stdout: stdout, stderr: stderr}
	return p.run(ctx, args)
}

// program is the surroundings of a run, which tests replace.
type program struct {
	client         *slurm.Client
	stdout, stderr io.Writer
	watch          slurm.WatchOptions
}

// usageError is input that is wrong, as opposed to something that failed.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func wrong(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func (p *program) run(ctx context.Context, args []string) int {
	commands := map[string]func(context.Context, []string) error{
		"plan": p.plan, "submit": p.submit, "watch": p.follow, "decide": p.decide,
	}
	name := ""
	if len(args) > 0 {
		name = strings.TrimLeft(args[0], "-")
	}
	if name == "h" || name == "help" {
		fmt.Fprint(p.stdout, help)
		return 0
	}
	command, ok := commands[name]
	if !ok {
		fmt.Fprintf(p.stderr, "slurm: want plan, submit, watch or decide, not %q; see -h\n", name)
		return 2
	}
	err := command(ctx, args[1:])
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(p.stderr, "slurm %s: %v\n", name, err)
		return 2
	default:
		fmt.Fprintf(p.stderr, "slurm %s: %v\n", name, err)
		return 1
	}
}

// parse reads the flags of one subcommand, whose help begins with about.
func (p *program) parse(f *flag.FlagSet, args []string, about string, operands int) error {
	f.SetOutput(p.stderr)
	f.Usage = func() {
		fmt.Fprintf(p.stdout, "usage: slurm %s [flags]%s\n\n%s\n\nflags:\n", f.Name(), strings.Repeat(" TASK", operands), about)
		f.SetOutput(p.stdout)
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return wrong("see -h")
	}
	if f.NArg() != operands {
		return wrong("%d operands, want %d; see -h", f.NArg(), operands)
	}
	return nil
}

const help = `Slurm brings a sweep of training tasks to a Slurm cluster so that tasks which
get along share a GPU, and learns from how they ran.

usage: slurm plan|submit|watch|decide [flags]      each explains itself with -h

A sweep is a JSON file, for example:

  {
    "models": {"a100": "A100-40GB"},
    "partition": "main", "time": "2h", "log_dir": "logs", "setup": "module load cuda",
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
predicted or left open.

A site that offers gres/shard or gres/mps gets one job per task. If each GPU of a
node has a type of its own there (gpu:a100i0:1, gpu:a100i1:1, ...), a job can name
the very GPU. On other sites the tasks that share a GPU share one job.
`
