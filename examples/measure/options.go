package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/session"
	"example.com/colloc/profile"
)

// options are the command line.
type options struct {
	out, csv, report string
	list, plan       bool
	fake, unchecked  bool
	retry            bool
	gpu, python      string
	machine          string
	warmup, measure  time.Duration
	period           time.Duration
	budget           time.Duration
	start, grace     time.Duration
	keep             int
	plan.Options
}

func parseOptions(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	var tasks, mechanisms string
	f := flag.NewFlagSet("measure", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.out, "out", "measure.jsonl", "raw `FILE`: measuring goes on where it ends")
	f.BoolVar(&o.list, "list", false, "print the tasks and stop")
	f.BoolVar(&o.plan, "plan", false, "print the cells and their time and stop")
	f.StringVar(&o.csv, "csv", "", "turn -out into a tidy table in `FILE` and stop")
	f.StringVar(&o.report, "report", "", "print what a `FILE`, raw or tidy, says and stop")
	f.BoolVar(&o.fake, "fake", false, "simulate GPU and workloads: nothing is measured")
	f.DurationVar(&o.budget, "budget", 0, "stop after `TIME`, the most valuable cells first; 0 is no limit")
	f.StringVar(&tasks, "tasks", "", "measure only these, `A,B,...`")
	f.StringVar(&mechanisms, "mechanisms", "time-slicing,mps", "ways to share")
	f.IntVar(&o.Repeats, "repeats", 3, "repetitions of everything")
	f.IntVar(&o.Triples, "triples", 16, "how many sets of three")
	f.IntVar(&o.Quadruples, "quadruples", 12, "how many sets of four")
	f.BoolVar(&o.Threads, "threads", true, "also measure MPS with thread percentages")
	f.Uint64Var(&o.Seed, "seed", 1, "of sampling and order")
	f.DurationVar(&o.warmup, "warmup", 2*time.Second, "steps before measuring")
	f.DurationVar(&o.measure, "measure", 5*time.Second, "measuring")
	f.DurationVar(&o.period, "period", 250*time.Millisecond, "between samples of the GPU")
	f.IntVar(&o.keep, "keep", 0, "keep `N` processes between cells: much faster; their contexts stay on the GPU")
	f.DurationVar(&o.start, "start", 3*time.Minute, "longest time for a workload to get ready")
	f.DurationVar(&o.grace, "grace", time.Minute, "longest time for it to end")
	f.StringVar(&o.gpu, "gpu", "", "`INDEX` or ID of the GPU; without it the first, or that of CUDA_VISIBLE_DEVICES")
	f.StringVar(&o.python, "python", "python3", "`PROGRAM` that has PyTorch")
	f.StringVar(&o.machine, "machine", "", "label of this host in the results")
	f.BoolVar(&o.retry, "retry", false, "measure cells again that crashed or hung")
	f.BoolVar(&o.unchecked, "unchecked", false, "measure even if nothing tells who else uses the GPU")
	f.Usage = func() { usage(f) }
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	var errs []error
	if f.NArg() > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q", f.Arg(0)))
	}
	var err error
	o.Tasks, err = plan.Choose(tasks)
	errs = append(errs, err, o.check())
	for name := range strings.SplitSeq(mechanisms, ",") {
		m, err := profile.ParseMechanism(name)
		if err != nil || m != profile.TimeSlice && m != profile.MPS {
			errs = append(errs, fmt.Errorf("-mechanisms: %q is neither time-slicing nor mps", name))
		}
		o.Mechanisms = append(o.Mechanisms, m)
	}
	return o, errors.Join(errs...)
}

// check reports every flag that makes no sense.
func (o *options) check() error {
	var errs []error
	for _, d := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"-warmup", o.warmup, 0},
		{"-measure", o.measure, time.Millisecond},
		{"-period", o.period, time.Millisecond},
		{"-budget", o.budget, 0},
		{"-start", o.start, time.Millisecond},
		{"-grace", o.grace, time.Millisecond},
	} {
		if d.value < d.least {
			errs = append(errs, fmt.Errorf("%s is %v, want at least %v", d.name, d.value, d.least))
		}
	}
	for _, n := range []struct {
		name         string
		value, least int
	}{{"-repeats", o.Repeats, 1}, {"-triples", o.Triples, 0}, {"-quadruples", o.Quadruples, 0}, {"-keep", o.keep, 0}} {
		if n.value < n.least {
			errs = append(errs, fmt.Errorf("%s is %d, want at least %d", n.name, n.value, n.least))
		}
	}
	if o.fake && inDataFolder(o.out) {
		errs = append(errs, fmt.Errorf("-fake: %w", errDataFolder))
	}
	return errors.Join(errs...)
}

// errDataFolder keeps the folder of measurements clean.
var errDataFolder = errors.New("simulated numbers do not belong into a folder called data")

func inDataFolder(name string) bool {
	full, err := filepath.Abs(name)
	return err != nil || filepath.Base(filepath.Dir(full)) == "data"
}

// config is what measuring needs of the command line.
func (o *options) config() *session.Config {
	return &session.Config{
		Settings: plan.Settings{Warmup: o.warmup.Seconds(), Measure: o.measure.Seconds(), Period: o.period.Seconds(), Keep: o.keep},
		Out:      o.out, Machine: o.machine, Start: o.start, Grace: o.grace, Budget: o.budget, Retry: o.retry, Unchecked: o.unchecked,
	}
}

func usage(f *flag.FlagSet) {
	fmt.Fprint(f.Output(), `Measure runs training tasks alone and in sets on one GPU and writes how fast each
was, what memory it took and what the GPU did.

usage: measure -plan                        what would be measured, and how long it takes
       measure [-out FILE] [-budget 10m]    measure, or go on measuring
       measure -out FILE -csv TABLE         make a table of it
       measure -report FILE                 print what came of it
       measure -fake ...                    the same without a GPU, simulated

`)
	f.PrintDefaults()
	fmt.Fprint(f.Output(), `
Exit status: 0 when all, or what the budget allowed, was measured; 1 on failure;
2 on a wrong command line; 3 when the GPU is in use by others; 130 when stopped
by a signal. In each case the same command goes on where it stopped.
`)
}
