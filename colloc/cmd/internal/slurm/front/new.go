package front

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/cmd/internal/slurm/settings"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/profile"
)

const aboutNew = `New writes a sweep file of a command, of every value of its parameters, or of a file
of commands, in the words of colloc sweep: {lr} is each value of -p lr=..., {} counts
with -n. plan and submit read the file, and it may be edited before.

  colloc slurm new -gpus 4 -setup 'module load cuda' -- python train.py
  colloc slurm new -gpus 4 -nodes 4 -launch torchrun -- train.py --zero 3
  colloc slurm new -gpu-memory 16GiB -p lr=0.1,0.01 -- python train.py --lr {lr}
  colloc slurm new -steps -cpus 2 -memory 4GiB -n 8 -- python train.py --seed {}
  colloc slurm new -most 3 -group lr -scratch /tmp -p lr=1..3 -- python train.py --lr {lr}`

// making is what new was asked for.
type making struct {
	settings.Settings

	path string
	grid grammar.Grid
	task taskfile.Task // what all tasks have in common
	gpu  string        // for what is known of them
	used profile.Bytes // of a GPU's memory
	busy float64
}

func (m *making) flags() *flag.FlagSet {
	f := flag.NewFlagSet("new", flag.ContinueOnError)
	f.StringVar(&m.path, "sweep", "sweep.json", "write `FILE`, which must not be there yet")
	m.grid.Flags(f, nil)
	m.needFlags(f)
	m.shapeFlags(f)
	m.siteFlags(f)
	return f
}

// needFlags say what each task needs.
func (m *making) needFlags(f *flag.FlagSet) {
	f.IntVar(&m.task.GPUs, "gpus", 0, "`N` GPUs for each task, to itself, on each node; without it tasks share GPUs where that gains")
	f.IntVar(&m.task.CPUs, "cpus", 0, "`N` CPUs for each task, on one node; libraries start no more threads")
	cli.Bytes(f, &m.task.Memory, "memory", "host memory in `BYTES` for each task, on one node")
	f.StringVar(&m.gpu, "gpu", "", "-used and -busy were seen on the product `GPU`")
	cli.Bytes(f, &m.used, "used", "a task uses `BYTES` of that GPU's memory, as nvidia-smi shows")
	f.Float64Var(&m.busy, "busy", 0, "and keeps it busy for this `SHARE` of the time, 0 to 1")
}

// shapeFlags say what jobs the tasks make.
func (m *making) shapeFlags(f *flag.FlagSet) {
	f.IntVar(&m.Nodes, "nodes", 0, "each task runs on `N` nodes")
	f.Func("launch", "`HOW` processes start on the nodes: node (one each, the default), torchrun, or ranks (one for each GPU)", func(s string) error {
		m.Launch = new(script.Launcher)
		return m.Launch.UnmarshalText([]byte(s))
	})
	cli.Bytes(f, &m.GPUMemory, "gpu-memory", "only GPUs with `BYTES` or more; the site's types and features say which those are")
	f.BoolVar(&m.Steps, "steps", false, "put the tasks into one allocation, each a job step with CPUs, memory and GPUs of its own")
	f.IntVar(&m.Most, "most", 0, "at most `N` tasks share a GPU, 1 to 4; default "+strconv.Itoa(colloc.DefaultMaxSet))
}

// siteFlags say how the site is asked.
func (m *making) siteFlags(f *flag.FlagSet) {
	for _, o := range []struct {
		to          *string
		name, about string
	}{
		{&m.Partition, "partition", "sbatch's --partition: `NAME`"},
		{&m.Account, "account", "sbatch's --account: `NAME`"},
		{&m.QOS, "qos", "sbatch's --qos: `NAME`"},
		{&m.Reservation, "reservation", "sbatch's --reservation: `NAME`"},
		{&m.Constraint, "constraint", "`FEATURES` that nodes must have, joined by & and |"},
		{&m.Licenses, "licenses", "sbatch's --licenses: `LIST`"},
		{&m.Setup, "setup", "bash `CODE` before the tasks, such as module load cuda; a line that fails ends the job"},
		{&m.Group, "group", "the tasks' WANDB_RUN_GROUP is `NAME`"},
		{&m.Scratch, "scratch", "each task gets a folder of its own below `DIR` of the node, in TMPDIR, which goes when the job ends"},
		{&m.LogDir, "log-dir", "tasks and jobs write into `DIR`"},
	} {
		f.StringVar(o.to, o.name, "", o.about)
	}
	f.BoolVar(&m.Requeue, "requeue", false, "let Slurm start jobs anew after preemption or a failed node")
	f.DurationVar((*time.Duration)(&m.Time), "time", 0, "a task takes no `LONGER` alone")
	f.DurationVar((*time.Duration)(&m.Restart), "restart", 0, "with -requeue, which it means: what it `COSTS` a task to go on from what it saved; its time limit is that much longer")
	f.DurationVar((*time.Duration)(&m.Warn), "warn", 0, "a signal so `LONG` before the end of a job, for a checkpoint")
	f.Func("signal", "which one: `NAME`, or NAME@SECONDS as sbatch says it; default USR1", m.warning)
	f.IntVar(&m.Limit, "limit", 0, "at most `N` jobs of the sweep at a time, as %N of a job array; any number without it")
	cli.Products(f, &m.Models, "model", "`TYPE=PRODUCT`: which product stands behind a type of the site's --gres; may be given several times")
}

// warning reads a signal as sbatch takes it: USR2, SIGUSR2, USR2@120.
func (m *making) warning(s string) error {
	name, after, timed := strings.Cut(s, "@")
	m.Signal = strings.TrimPrefix(strings.ToUpper(name), "SIG")
	if !timed {
		return nil
	}
	seconds, err := strconv.ParseUint(after, 10, 16)
	if err != nil || seconds == 0 {
		return fmt.Errorf("want NAME@SECONDS with 1 to %d seconds", math.MaxUint16)
	}
	m.Warn = taskfile.Duration(time.Duration(seconds) * time.Second)
	return nil
}

// New is the command new.
func New(parse cli.Parser, args []string, in io.Reader, out io.Writer) error {
	m := &making{}
	f := m.flags()
	if err := parse(f, args, " [--] COMMAND", aboutNew); err != nil {
		return err
	}
	file, err := m.make(f.Args(), in)
	if err != nil {
		return cli.Usage("%w", err)
	}
	if _, err := os.Lstat(m.path); !errors.Is(err, fs.ErrNotExist) {
		return cli.Usage("%s is there: -sweep names another", m.path)
	}
	if err := taskfile.WriteFile(m.path, file); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d tasks; next: colloc slurm plan -sweep %s; colloc slurm advise -site says what a site can switch on\n", m.path, len(file.Tasks), grammar.QuoteWord(m.path))
	return nil
}

// make is the file of the tasks.
func (m *making) make(command []string, in io.Reader) (*taskfile.File, error) {
	if err := m.Sound(); err != nil {
		return nil, err
	}
	jobs, err := m.grid.Of(command, in)
	if err != nil {
		return nil, err
	}
	if !(m.busy >= 0 && m.busy <= 1) {
		return nil, fmt.Errorf("-busy %v: want 0 to 1", m.busy)
	}
	section, err := json.Marshal(m.Settings)
	if err != nil {
		return nil, err
	}
	if m.gpu == "" && (m.used > 0 || m.busy > 0) {
		return nil, errors.New("-used and -busy need -gpu: on which product were they seen?")
	}
	file := &taskfile.File{Slurm: section}
	for _, j := range jobs {
		t := m.task
		t.ID, t.Command, t.Priority, t.Kind = j.ID, j.Command, j.Priority, j.Kind
		t.Training.BatchSize = 1
		if len(j.After) > 0 {
			return nil, fmt.Errorf("task %q waits for %q: a sweep on Slurm has no order; submit those first", j.ID, j.After)
		}
		if m.gpu != "" {
			t.Solo = m.solo()
		}
		file.Tasks = append(file.Tasks, t)
	}
	return file, nil
}

// solo is what the flags say of a task alone.
func (m *making) solo() *taskfile.Solo {
	s := &taskfile.Solo{GPU: m.gpu}
	if m.used > 0 {
		s.MemUsed = profile.Some(m.used)
	}
	if m.busy > 0 {
		s.GPUBusy = profile.Some(m.busy)
	}
	return s
}
