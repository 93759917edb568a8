package script

import (
	"errors"
	"fmt"
	"strings"

	"example.com/colloc/profile"
)

// Task is one program of a batch job: what to run and what it needs.
type Task struct {
	// Name names the task in messages and file names; unique in one script, not
	// empty. In scripts from a plan it is the task's ID.
	Name string
	// Command is the program and its arguments. No shell interprets them.
	Command []string
	// Env are variables, NAME=value, beside those of the job. Names that bash
	// keeps for itself are refused, and those that the script sets.
	Env []string
	// Dir is where the program runs; empty is where the job runs.
	Dir string
	// Log is the file for what it prints, as seen from where the job runs: made anew,
	// and added to where Slurm starts a job again.
	// Empty means a name made of the job's number and the task's name, in
	// [Options].LogDir.
	Log string
	// CPUs is the number of CPU cores; 0 means 1. Numeric libraries are told to
	// start no more threads.
	CPUs int
	// Memory is host memory. In one script either all tasks state it or none
	// does; 0 leaves it to the site's default.
	Memory profile.Bytes
	// GPUs is the number of GPUs for this task alone, for [Steps]. Where tasks
	// share a GPU it must be 0.
	GPUs int
	// GPUMemory is the device memory reserved for the task; 0 is unknown. Under
	// MPS it is enforced, see [Shared].
	GPUMemory profile.Bytes
	// Peak lets the script of [Shared] say how much memory of its GPU the task holds, by nvidia-smi, whenever it
	// is more than before: a line "colloc: peak MIB MiB: NAME" in what the script prints.
	Peak bool
}

// Set is the tasks that share one GPU.
type Set struct {
	// Mechanism is how. [profile.Exclusive] is for one task; a MIG instance is a
	// GPU of its own.
	Mechanism profile.Mechanism
	// Tasks are the members.
	Tasks []Task
	// Neighbours says that jobs of their own share the GPU with these tasks, by
	// the site's gres/shard or gres/mps: a single task takes the same precautions
	// as a set of several. With MPS the daemon is then the site's.
	Neighbours bool
}

// daemon reports whether the script starts an MPS daemon for the set.
func (s *Set) daemon() bool { return s.Mechanism == profile.MPS && !s.Neighbours }

// Options say how scripts are made. The zero value, or nil, is the documented
// default.
type Options struct {
	// Request is what the job asks for. What follows from the tasks (nodes,
	// tasks, CPUs, memory, GPUs) may be left zero and is filled in; where it is
	// set it must suffice.
	Request Request
	// Setup is bash code to run before the tasks, such as "module load cuda". It
	// is used as it is and must not set traps or -e. A line of it that fails ends
	// the job with its exit code; "|| true" behind it lets it fail.
	Setup string
	// LogDir is the folder for the logs of tasks that name none, made if it is
	// not there; empty is where the job runs.
	LogDir string
	// Group is the run group that the tasks' logger files them under: their
	// WANDB_RUN_GROUP, and COLLOC_GROUP; empty sets neither. COLLOC_TASK is the
	// task's name then.
	Group string
	// Scratch is a folder of the node, such as "/tmp"; each task of [Shared]
	// and [Steps] gets a folder of its own below it, in COLLOC_SCRATCH and TMPDIR,
	// which goes when the job ends. Empty is none.
	Scratch string
}

// defaults returns a copy that can be changed.
func (o *Options) defaults() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

func (o *Options) check() error {
	var errs []error
	for _, f := range []struct{ field, value string }{{"Setup", o.Setup}, {"LogDir", o.LogDir}, {"Group", o.Group}, {"Scratch", o.Scratch}} {
		if strings.ContainsRune(f.value, 0) {
			errs = append(errs, fmt.Errorf("slurm: options: %s holds a NUL byte", f.field))
		}
	}
	return errors.Join(errs...)
}

// checkTasks reports every fault of the tasks of one script.
func checkTasks(tasks []Task) error {
	var errs []error
	seen := make(map[string]int, len(tasks))
	sized := 0
	for i := range tasks {
		t := &tasks[i]
		for _, fault := range t.faults() {
			errs = append(errs, fmt.Errorf("slurm: task %d (%q): %w", i, t.Name, fault))
		}
		if first, twice := seen[t.Name]; twice {
			errs = append(errs, fmt.Errorf("slurm: task %d (%q): task %d has the same name", i, t.Name, first))
		}
		seen[t.Name] = i
		if t.Memory > 0 {
			sized++
		}
	}
	if len(tasks) > maxTasks {
		errs = append(errs, fmt.Errorf("slurm: %d tasks, want at most %d in one script", len(tasks), maxTasks))
	}
	if sized > 0 && sized < len(tasks) {
		errs = append(errs, fmt.Errorf("slurm: %d of %d tasks state their Memory: state it for all, or nothing is left for the others", sized, len(tasks)))
	}
	return errors.Join(errs...)
}

// faults returns what is wrong with a task by itself.
func (t *Task) faults() []error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if t.Name == "" {
		add("Name is empty")
	}
	if len(t.Command) == 0 || t.Command[0] == "" {
		add("Command is empty")
	}
	for i, pair := range t.Env {
		if err := checkVariable(pair); err != nil {
			add("Env[%d] is %q: %w", i, pair, err)
		}
	}
	for _, f := range []struct {
		field  string
		values []string
	}{{"Name", []string{t.Name}}, {"Command", t.Command}, {"Env", t.Env}, {"Dir", []string{t.Dir}}, {"Log", []string{t.Log}}} {
		if strings.ContainsRune(strings.Join(f.values, ""), 0) {
			add("%s holds a NUL byte, which no program can receive", f.field)
		}
	}
	for _, f := range []struct {
		field string
		value int
	}{{"CPUs", t.CPUs}, {"GPUs", t.GPUs}} {
		if f.value < 0 || f.value > maxCount {
			add("%s is %d, want 0 to %d", f.field, f.value, maxCount)
		}
	}
	if t.Memory < 0 || t.Memory > maxMemory || t.GPUMemory < 0 || t.GPUMemory > maxMemory {
		add("Memory is %d and GPUMemory %d bytes, want 0 to %v", int64(t.Memory), int64(t.GPUMemory), maxMemory)
	}
	return errs
}

// The sum of maxMemory over maxTasks is a Bytes.
const (
	maxMemory = 256 * profile.GiB * 1024
	maxTasks  = 1 << 14
)

func (t *Task) cpus() int { return max(1, t.CPUs) }
