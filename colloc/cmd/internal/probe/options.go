package probe

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// options are the command line.
type options struct {
	command  []string
	pid      int
	time     time.Duration
	stop     bool
	shared   bool
	out      string
	id       string
	model    string
	sequence int
	batch    int
	training profile.Training
	given    map[string]bool // flags
	gpu      string
	fakeGPUs string
	step     string
	total    int64
}

// flags returns the flags, which fill o.
func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("profile", flag.ContinueOnError)
	f.DurationVar(&o.time, "time", 30*time.Second, "watch for `TIME` from the first step on, for twice as long without steps")
	f.IntVar(&o.pid, "pid", 0, "watch the process `N` and what it started, instead of a command; it is not touched")
	f.BoolVar(&o.stop, "stop", false, "end the command when it was watched; without, it goes on")
	f.StringVar(&o.out, "o", "colloc-task.json", "write the task file `FILE`")
	f.StringVar(&o.id, "id", "", "the task's `NAME`; default is program and script")
	f.StringVar(&o.model, "model", "", "`FILE` or folder that describes the model, instead of what the command names")
	f.IntVar(&o.sequence, "seq", 0, "tokens in a sample of a config.json")
	f.IntVar(&o.batch, "batch", 0, "batch size `N`, if the command does not tell")
	f.TextVar(&o.training.Optimizer, "optimizer", profile.Adam, "update `RULE`, if the command does not tell: sgd, momentum, adam, ...")
	f.TextVar(&o.training.Precision, "precision", profile.FP32, "number `FORMAT`, if the command does not tell: fp32, tf32, mixed, bf16, fp16")
	f.BoolVar(&o.training.Checkpointing, "checkpointing", false, "activations are recomputed in the backward pass")
	f.StringVar(&o.gpu, "gpu", "", "use the GPU `NAME`: a number or UUID; without, one that nobody uses, of CUDA_VISIBLE_DEVICES if that is set")
	f.BoolVar(&o.shared, "shared", false, "measure although somebody else uses the GPU; the file says so")
	f.StringVar(&o.fakeGPUs, "fake-gpus", "", "pretend to have the GPUs in `FILE`, or a list such as 2xA100-40GB; the command burn then plays a training")
	o.step = solo.Steps
	f.Func("step", "`REGEXP` with the group (?P<step>...) finds the number of a step in the output", func(s string) error {
		o.step = s
		_, err := regexp.Compile(s)
		return err
	})
	f.Int64Var(&o.total, "steps", 0, "the task takes `N` steps, if it does not say so itself")
	return f
}

// parse reads the arguments.
func (o *options) parse(args []string, w io.Writer) error {
	f := o.flags()
	const after = "\nexit status: that of the command; 2 for wrong usage, no GPU, or one that is not alone; 1 if the file could not be written\n"
	if err := cli.Parse(f, args, w, help, after); err != nil {
		return err
	}
	o.command = f.Args()
	o.given = make(map[string]bool)
	f.Visit(func(f *flag.Flag) { o.given[f.Name] = true })
	for _, c := range []struct {
		wrong bool
		text  string
	}{
		{len(o.command) == 0 && o.pid == 0, "no command: write it after --, or name a process with -pid"},
		{len(o.command) > 0 && o.pid != 0, "a command and -pid: want one of them"},
		{o.pid < 0, fmt.Sprintf("-pid %d: want the number of a process", o.pid)},
		{o.pid != 0 && o.stop, "-pid and -stop: a process that was not started here is not ended"},
		{o.time <= 0, fmt.Sprintf("-time %v: want more than 0", o.time)},
		{o.batch < 0 || o.batch > profile.MaxBatch, fmt.Sprintf("-batch %d: want 1 or more", o.batch)},
		{o.total < 0, fmt.Sprintf("-steps %d: want 0 or more", o.total)},
		{o.out == "", "-o: want the name of a file"},
	} {
		if c.wrong {
			return cli.Usage("%s; see -h", c.text)
		}
	}
	if o.id == "" && len(o.command) > 0 {
		o.id = grammar.KindOf(o.command)
	} else if o.id == "" {
		o.id = fmt.Sprintf("process %d", o.pid)
	}
	return o.mayReplace()
}

// mayReplace refuses to write over a file that is no task file, and where no file can be.
func (o *options) mayReplace() error {
	if info, err := os.Stat(o.out); err == nil && !info.Mode().IsRegular() {
		return cli.Usage("-o %s is no file: choose another name", o.out)
	}
	_, err := taskfile.ReadFile(o.out)
	var fault *taskfile.Error
	if errors.As(err, &fault) {
		return cli.Usage("-o %s is there and is no task file (%w): choose another name", o.out, err)
	}
	f, err := os.CreateTemp(filepath.Dir(o.out), ".colloc-*") // before the training runs for hours
	if err != nil {
		return cli.Usage("-o %s cannot be written (%w): choose another name", o.out, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// gpuNames is -gpu as a list.
func (o *options) gpuNames() []nvmlx.DeviceID {
	if o.gpu == "" {
		return nil
	}
	return []nvmlx.DeviceID{nvmlx.DeviceID(o.gpu)}
}
