package measured

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/history"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/predict/dataset"
)

// Day is one day, and what each policy came to on it.
type Day struct {
	Name  string
	Tasks []sim.Task
	Runs  []trace.Run
}

// Open reads the days of some folders, by name: day_NAME.csv, and what all of them need from
// solo_a100.csv and runs_a100.csv. Each may have further parts NAME__PART.csv, and the folders may
// hold a part each. A day without runs is there, too. Errors name file and line; one of them is
// fs.ErrNotExist where no folder has a day, or none has trainings alone.
func Open(folders ...fs.FS) ([]Day, error) {
	solo, err := read(folders, "solo_a100", dataset.ReadSolo)
	if err != nil {
		return nil, err
	}
	if len(solo) == 0 {
		return nil, fmt.Errorf("measured: no solo_a100.csv: %w", fs.ErrNotExist)
	}
	runs, err := read(folders, "runs_a100", trace.ReadRuns)
	if err != nil {
		return nil, err
	}
	var days []Day
	for _, folder := range folders {
		files, err := fs.Glob(folder, "day_*.csv")
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			tasks, err := readFile(folder, file, func(file string, r io.Reader) ([]sim.Task, error) { return trace.ReadDay(file, r, solo) })
			if err != nil {
				return nil, err
			}
			name, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(file, "day_"), ".csv"), "__")
			days = append(days, Day{Name: name, Tasks: tasks})
		}
	}
	if len(days) == 0 {
		return nil, fmt.Errorf("measured: no day_*.csv: %w", fs.ErrNotExist)
	}
	slices.SortStableFunc(days, func(a, b Day) int { return cmp.Compare(a.Name, b.Name) })
	for i := range days {
		for _, run := range runs {
			if run.Day == days[i].Name {
				days[i].Runs = append(days[i].Runs, run)
			}
		}
	}
	return days, nil
}

// read reads NAME.csv and NAME__*.csv of all folders.
func read[T any](folders []fs.FS, name string, parse func(string, io.Reader) ([]T, error)) ([]T, error) {
	var all []T
	for _, folder := range folders {
		for _, pattern := range []string{name + ".csv", name + "__*.csv"} {
			files, err := fs.Glob(folder, pattern)
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				rows, err := readFile(folder, file, parse)
				if err != nil {
					return nil, err
				}
				all = append(all, rows...)
			}
		}
	}
	return all, nil
}

func readFile[T any](folder fs.FS, file string, parse func(string, io.Reader) ([]T, error)) ([]T, error) {
	f, err := folder.Open(file)
	if err != nil {
		return nil, fmt.Errorf("measured: %w", err)
	}
	rows, err := parse(file, f)
	return rows, errors.Join(err, f.Close())
}

// Machine is what ran the days, and what it adds to trainings. Zero fields are the defaults,
// which come from the data; negative ones are none.
type Machine struct {
	// Startup is how much longer each start takes than the training alone took from start to end:
	// 21 s by default, what exclusive runs took longer on two days (20.4 and 21.9 s).
	Startup time.Duration
	// Settle is how long after a start AEGIS looks at a GPU again, see [policy.AEGIS].
	Settle time.Duration
	// Cores are the machine's; 64 by default, those of a DGX Station A100. TaskCores are how many
	// each GPU of a training wants to load its data and to start its kernels; 7 by default, what
	// both days together say. Their scripts start five processes.
	Cores, TaskCores float64
	// Truth is how fast tasks are that share, Predicted what policies are told; nil is the same.
	Truth, Predicted sim.Model
	// Unknown says that nobody knows how long tasks run: policies are told what similar ones took on
	// that day, an hour for the first.
	Unknown bool
	// Spread is the standard deviation of the logarithm of lengths over repetitions; 0 means 0.02.
	Spread float64
}

func (m Machine) withDefaults() Machine {
	m.Startup = max(0, cmp.Or(m.Startup, 21*time.Second))
	m.Cores, m.TaskCores = max(0, cmp.Or(m.Cores, 64)), max(0, cmp.Or(m.TaskCores, 7))
	m.Spread = max(0, cmp.Or(m.Spread, 0.02))
	return m
}

// Policy is a policy as it was run.
type Policy struct {
	// Name is what the files call it.
	Name string
	sim.Policy
	// Estimator is whose estimate of memory it goes by; empty is the peak that was profiled.
	Estimator string
}

// Policies are those that the authors ran.
func (m Machine) Policies() []Policy {
	return []Policy{
		{"exclusive", policy.FIFO{}, ""},
		{"horus", policy.Horus{}, ""},
		{"lucid", policy.Lucid{InOrder: true}, ""},
		{"aegis-horusmem", policy.AEGIS{Settle: m.Settle}, "horus"},
		{"aegis-peakmem", policy.AEGIS{Settle: m.Settle}, ""},
		{"aegis-estimatorfree", policy.AEGIS{Blind: true, Settle: m.Settle}, ""},
	}
}

// Play plays the day under a policy. Seed 0 is the day as it was; others draw lengths anew, for
// who joins whom hangs on seconds. It returns an error for what [sim.Run] refuses.
func (d *Day) Play(ctx context.Context, m Machine, p Policy, seed uint64) (*sim.Result, error) {
	m = m.withDefaults()
	c, err := sim.ParseCluster("1x3xA100-40GB")
	if err != nil {
		return nil, err
	}
	c.Nodes[0].CPU = m.Cores
	tasks := trace.Jitter(d.Tasks, 0, m.Spread, seed)
	for i := range tasks {
		tasks[i].Startup = m.Startup
		tasks[i].CPU = m.TaskCores * float64(max(1, tasks[i].GPUs))
	}
	o := sim.Options{Truth: m.Truth, Predicted: m.Predicted, ShareCPU: true, Seed: seed}
	if p.Estimator != "" {
		o.Reserve = policy.Estimate(p.Estimator)
	}
	if m.Unknown {
		h := history.New(tasks)
		o.Length, o.Guessed, o.OnEvent = h.Length, true, h.Note
	}
	r, err := sim.Run(ctx, c, tasks, p.Policy, o)
	if err != nil {
		return nil, fmt.Errorf("measured: %s: %s: %w", d.Name, p.Name, err)
	}
	return r, nil
}

// Execution is the mean time that the tasks of a result ran, over all their attempts.
func Execution(r *sim.Result) time.Duration {
	sum := time.Duration(0)
	for i := range r.Ends {
		sum += r.Ends[i].JCT() - r.Ends[i].Wait
	}
	return sum / time.Duration(max(1, len(r.Ends)))
}
