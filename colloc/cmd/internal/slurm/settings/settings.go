package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/colloc/slurm/sizing"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/profile"
)

// Settings are how the tasks of a sweep run on a cluster. What is zero is left to the
// site.
type Settings struct {
	// Name tells the sweep from others; empty is a name made of its folder.
	Name string `json:"name,omitempty"`
	// Models says which product stands behind a type of the site's --gres.
	Models map[string]string `json:"models,omitempty"`

	// These are options of sbatch. Constraint are features, joined by & and |.
	Partition   string `json:"partition,omitempty"`
	Account     string `json:"account,omitempty"`
	QOS         string `json:"qos,omitempty"`
	Reservation string `json:"reservation,omitempty"`
	Constraint  string `json:"constraint,omitempty"`
	Licenses    string `json:"licenses,omitempty"`
	Requeue     bool   `json:"requeue,omitempty"`
	// Time is how long a task takes alone, where it does not say so itself. Warn is
	// how long before the end of a job its tasks get Signal, to write a checkpoint;
	// see [script.Request].
	Time   taskfile.Duration `json:"time,omitzero"`
	Warn   taskfile.Duration `json:"warn,omitzero"`
	Signal string            `json:"signal,omitempty"`
	// Restart is what it costs a task to go on from what it saved, where Slurm put its job back: it then
	// takes that much longer. It means Requeue.
	Restart taskfile.Duration `json:"restart,omitzero"`
	// Limit is how many jobs of the sweep run at a time; 0 is no limit.
	Limit int `json:"limit,omitempty"`

	// LogDir is where tasks and jobs write, Setup is bash before the tasks, Group the
	// run group of the tasks' logger, Scratch the folder of a node below which each
	// task gets one of its own.
	LogDir  string `json:"log_dir,omitempty"`
	Setup   string `json:"setup,omitempty"`
	Group   string `json:"group,omitempty"`
	Scratch string `json:"scratch,omitempty"`

	// GPUMemory is what each GPU must have at least.
	GPUMemory profile.Bytes `json:"gpu_memory,omitempty"`
	// Most is how many tasks may share a GPU, 1 to 4; 0 is [colloc.DefaultMaxSet].
	Most int `json:"most,omitempty"`
	// Nodes and Launch are for tasks of several GPUs: on how many nodes each runs, and
	// what starts its processes there; nil is one process a node.
	Nodes  int              `json:"nodes,omitempty"`
	Launch *script.Launcher `json:"launch,omitempty"`
	// Steps puts tasks into one allocation, each a job step with CPUs, memory and GPUs
	// of its own.
	Steps bool `json:"steps,omitempty"`
}

// Options are those of a script that runs tasks with these settings, without what
// follows from the tasks.
func (s *Settings) Options() script.Options {
	return script.Options{
		Request: script.Request{
			Partition: s.Partition, Account: s.Account, QOS: s.QOS, Reservation: s.Reservation, Constraint: s.Constraint, Licenses: s.Licenses,
			Requeue: s.Requeue || s.Restart > 0, Warn: time.Duration(s.Warn), Signal: s.Signal,
		},
		Setup: s.Setup, Group: s.Group, Scratch: s.Scratch,
	}
}

// Suits reports whether jobs may run on a node: it is of the partition, and has the
// features. & binds closer than |, as in Slurm.
func (s *Settings) Suits(n *site.Node) bool {
	if s.Partition != "" && !slices.ContainsFunc(strings.Split(s.Partition, ","), func(p string) bool { return slices.Contains(n.Partitions, p) }) {
		return false
	}
	if s.Constraint == "" {
		return true
	}
	for either := range strings.SplitSeq(s.Constraint, "|") {
		all := true
		for feature := range strings.SplitSeq(either, "&") {
			all = all && slices.Contains(n.Features, feature)
		}
		if all {
			return true
		}
	}
	return false
}

// Launcher is what starts the processes of a task of several GPUs.
func (s *Settings) Launcher() script.Launcher {
	if s.Launch == nil {
		return script.PerNode
	}
	return *s.Launch
}

// Kind is what to ask for so that each GPU has the memory that is wanted.
func (s *Settings) Kind(state *site.State) (sizing.Kind, error) {
	return sizing.KindOf(state, s.GPUMemory, &site.GPUOptions{Models: s.Models}, s.Suits)
}

// Sound reports what is wrong with the settings by themselves, whatever the cluster.
func (s *Settings) Sound() error {
	var errs []error
	const largest = 4 // what predictions were tried for
	if s.Most < 0 || s.Most > largest {
		errs = append(errs, fmt.Errorf("most is %d: want 1 to %d tasks on a GPU, or 0 for %d", s.Most, largest, colloc.DefaultMaxSet))
	}
	if s.Nodes < 0 {
		errs = append(errs, fmt.Errorf("nodes is %d: want 1 or more, or 0 for one", s.Nodes))
	}
	if s.Steps && s.Nodes > 1 {
		errs = append(errs, errors.New("steps is for tasks in one allocation on one node: leave nodes out"))
	}
	if s.Limit < 0 {
		errs = append(errs, fmt.Errorf("limit is %d: want 1 or more jobs at a time, or 0 for no limit", s.Limit))
	}
	if s.Time < 0 || s.Warn < 0 || s.Restart < 0 {
		errs = append(errs, fmt.Errorf("time is %v, warn is %v, restart is %v: want 0 or more", time.Duration(s.Time), time.Duration(s.Warn), time.Duration(s.Restart)))
	}
	if s.Signal != "" && !slices.Contains(script.Signals(), s.Signal) {
		errs = append(errs, fmt.Errorf("signal is %q: want one of %s", s.Signal, strings.Join(script.Signals(), ", ")))
	}
	if s.GPUMemory < 0 {
		errs = append(errs, fmt.Errorf("gpu_memory is %v: want 0 or more", s.GPUMemory))
	}
	return errors.Join(errs...)
}

// Both are features that hold where both constraints do: features joined by & and |,
// of which & binds closer; empty holds everywhere.
func Both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	var all []string
	for x := range strings.SplitSeq(a, "|") {
		for y := range strings.SplitSeq(b, "|") {
			all = append(all, x+"&"+y)
		}
	}
	return strings.Join(all, "|")
}
