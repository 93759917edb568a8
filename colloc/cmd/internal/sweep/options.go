package sweep

import (
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// options are the command line.
type options struct {
	grid    grammar.Grid
	command []string

	logs         string
	resume       bool
	resumeFailed bool
	dryRun       bool
	gone         []string
	asJSON       bool
	follow       bool
	metrics      string

	retries  int
	restart  profile.Opt[time.Duration]
	halt     halt
	timeout  time.Duration
	logLimit profile.Bytes
	group    string

	gpus       []nvmlx.DeviceID
	fakeGPUs   string
	perGPU     int
	station    string
	taskGPUs   int
	floor      profile.Bytes
	mechanisms []profile.Mechanism

	profiling time.Duration
	known     string
	memory    profile.Bytes
	step      string
	ownStep   bool // -step was given
	steps     int64

	given map[string]bool // the lists that began in the present Parse; nil is all of them
}

// flagSet returns the flags, which fill o.
func (o *options) flagSet() *flag.FlagSet {
	f := flag.NewFlagSet("sweep", flag.ContinueOnError)
	o.taskFlags(f)
	o.runFlags(f)
	o.gpuFlags(f)
	o.profileFlags(f)
	return f
}

func stationWords() []string { return []string{"auto", "yes", "no"} }

// groupEnv is what -group adds to the environment of a task.
func (o *options) groupEnv() []string {
	if o.group == "" {
		return nil
	}
	return []string{"WANDB_RUN_GROUP=" + o.group, "COLLOC_GROUP=" + o.group}
}

// begin empties a list at its first flag of a Parse.
func begin[T any](o *options, flag string, list *[]T) {
	if !o.given[flag] && o.given != nil {
		*list = nil
		o.given[flag] = true
	}
}

// taskFlags say what to run.
func (o *options) taskFlags(f *flag.FlagSet) {
	o.grid.Flags(f, func() { begin(o, "p", &o.grid.Params) })
	f.BoolVar(&o.grid.Shell, "shell", false, "let a shell read the command")
	f.StringVar(&o.grid.Along, "after", "", "tasks that differ in parameter `NAME` only run one after the other")
	f.IntVar(&o.grid.Priority, "priority", 0, "add `N` to the tasks' priorities; the highest starts first")
}

// runFlags say how to run it.
func (o *options) runFlags(f *flag.FlagSet) {
	f.StringVar(&o.logs, "logs", "", "keep queue, output and job log in `DIR`; default is the next free sweep-N")
	f.BoolVar(&o.resume, "resume", false, "go on with the sweep in -logs: all tasks that neither succeeded nor failed")
	f.BoolVar(&o.resumeFailed, "resume-failed", false, "as -resume, and run again what failed")
	f.Func("gone", "what ran on the host `NAME`, which shared the folder of -logs, is lost: the host is gone for good", func(s string) error {
		begin(o, "gone", &o.gone)
		o.gone = append(o.gone, s)
		return nil
	})
	f.BoolVar(&o.dryRun, "dry-run", false, "print the plan and run nothing")
	f.BoolVar(&o.asJSON, "json", false, "print events and the report as JSON Lines")
	f.BoolVar(&o.follow, "follow", false, "print what the tasks print, line by line")
	f.StringVar(&o.metrics, "metrics", "", "serve Prometheus metrics on `ADDR`, for example :9400; the host is this one unless it is given")

	cli.Restart(f, func(cost time.Duration) { o.restart = profile.Some(cost) })
	f.IntVar(&o.retries, "retries", 0, "run a failed task up to `N` times more")
	f.Func("halt", "`WHEN` to give up: never, or now or soon, with fail=N or fail=N% (soon,fail=10%); without it when 5 tasks in a row fail at their start", func(s string) (err error) {
		o.halt, err = parseHalt(s)
		return err
	})
	cli.Bytes(f, &o.logLimit, "log-limit", "let the output of a run take `BYTES` on the disk, default 1GiB; of more the middle is left out")
	f.DurationVar(&o.timeout, "timeout", 0, "end a run that takes longer than `TIME`")
	f.StringVar(&o.group, "group", "", "the tasks' WANDB_RUN_GROUP is `NAME`")
}

// gpuFlags say where to run it and who may share.
func (o *options) gpuFlags(f *flag.FlagSet) {
	gpus.Flags(f, &o.gpus, &o.mechanisms, func(flag string) {
		if flag == "gpus" {
			begin(o, flag, &o.gpus)
		} else {
			begin(o, flag, &o.mechanisms)
		}
	})
	f.StringVar(&o.station, "station", "auto", "auto: where a station runs (colloc station), it runs the tasks, unless a flag asks for what it cannot heed; no: never; yes: only there")
	f.IntVar(&o.taskGPUs, "gpus-per-task", 1, "each task takes `N` GPUs at once, to itself, as with torchrun; MASTER_PORT is another one for each")
	f.StringVar(&o.fakeGPUs, "fake-gpus", "", "pretend to have the GPUs in `FILE`, or a list such as 2xA100-40GB; the command burn then plays a training")
	f.IntVar(&o.perGPU, "per-gpu", colloc.DefaultMaxSet, "at most `N` tasks on a GPU")
	cli.Bytes(f, &o.floor, "mem-floor", "leave `BYTES` of each GPU free, beside the usual headroom")
}

// profileFlags say how to find out what a task needs.
func (o *options) profileFlags(f *flag.FlagSet) {
	f.DurationVar(&o.profiling, "profile", 30*time.Second, "watch the first task alone on its GPU for `TIME`, from its first step on")
	f.StringVar(&o.known, "known", "", "do not profile: `FILE` is what colloc profile wrote, or the profile.json of an earlier sweep")
	f.Func("by", "tasks with different values of the parameters `LIST` are not alike: profile each kind", func(s string) error {
		begin(o, "by", &o.grid.By)
		o.grid.By = append(o.grid.By, strings.Split(s, ",")...)
		return nil
	})
	cli.Bytes(f, &o.memory, "mem", "reserve `BYTES` for a task instead of what is measured")
	o.step = solo.Steps
	f.Func("step", "`REGEXP` with the group (?P<step>...) finds the number of a step in a task's output, (?P<total>...) that of all; without it the usual ways to write them", func(s string) error {
		o.step, o.ownStep = s, true
		_, err := regexp.Compile(s)
		return err
	})
	f.Int64Var(&o.steps, "steps", 0, "a task takes `N` steps, if it does not say so itself")
}

// parse reads the arguments.
func (o *options) parse(args []string, w io.Writer) error {
	f := o.flagSet()
	if err := cli.Parse(f, args, w, before, after); err != nil {
		return err
	}
	o.command = f.Args()
	if err := o.check(); err != nil || !o.resume && !o.resumeFailed {
		return err
	}
	return o.recall(args)
}

// What -h says before and after the flags.
const (
	before = `Sweep runs a training program many times on the GPUs of this host and lets as
many tasks share a GPU as finish sooner that way.

usage: colloc sweep [-n N] [-p NAME=LIST]... [flags] -- COMMAND {} {NAME}...
       colloc sweep -f FILE [flags]
       colloc sweep -logs DIR -resume

  colloc sweep -n 8 -- python train.py --seed {}
  colloc sweep -p lr=1e-4..1e-1:x10 -p seed=0..4 -- python train.py --lr {lr} --seed {seed}

`
	after = `
exit status: 0 all tasks succeeded, 1 some did not, 2 wrong usage or no GPU, 130 interrupted
"go doc example.com/colloc/colloc/cmd/internal/sweep" has the grammar of lists and files and the columns of the job log.
`
)

// check finds flags that make no sense, or not together.
func (o *options) check() error {
	resume := o.resume || o.resumeFailed
	for _, c := range []struct {
		wrong bool
		text  string
	}{
		{!slices.Contains(stationWords(), o.station), fmt.Sprintf("-station %q: want auto, yes or no", o.station)},
		{o.perGPU < 1, fmt.Sprintf("-per-gpu %d: want 1 or more", o.perGPU)},
		{o.taskGPUs < 1, fmt.Sprintf("-gpus-per-task %d: want 1 or more", o.taskGPUs)},
		{o.retries < 0, fmt.Sprintf("-retries %d: want 0 or more", o.retries)},
		{o.timeout < 0, fmt.Sprintf("-timeout %v: want 0 or more", o.timeout)},
		{o.profiling <= 0, fmt.Sprintf("-profile %v: want more than 0", o.profiling)},
		{o.memory > 0 && o.memory < profile.MiB, fmt.Sprintf("-mem %v: want 1 MiB or more, with its unit: -mem 6GiB", o.memory)},
		{o.steps < 0, fmt.Sprintf("-steps %d: want 0 or more", o.steps)},
		{resume && o.logs == "", "-resume needs -logs DIR, the folder of the sweep"},
		{o.asJSON && o.dryRun, "-json and -dry-run: the plan is no JSON"},
		{o.asJSON && o.follow, "-json and -follow: what tasks print is no JSON"},
	} {
		if c.wrong {
			return cli.Usage("%s; see -h", c.text)
		}
	}
	if o.ownStep && o.step != "" {
		groups := regexp.MustCompile(o.step).SubexpNames()
		if !slices.ContainsFunc([]string{"step", "seconds", "rate"}, func(name string) bool { return slices.Contains(groups, name) }) {
			return cli.Usage("-step %q: want a group named step, seconds or rate: (?P<step>[0-9]+)", o.step)
		}
	}
	return nil
}
