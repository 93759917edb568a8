package sim

import (
	"errors"
	"fmt"
	"time"

	"example.com/colloc/profile"
)

// Task is one program of a trace, as it truly is. Policies see a [TaskView].
type Task struct {
	// ID names the task: unique within its trace, not empty.
	ID string
	// Arrival is when it is submitted.
	Arrival time.Duration
	// Work is how long it runs alone on the reference GPU, more than 0.
	Work time.Duration
	// GPUs is how many it needs at once; 0 means 1.
	GPUs int
	// OneNode says that all its GPUs must be in one machine.
	OneNode bool
	// HostOnly is set for a task that needs no GPU, only CPU and HostMemory.
	HostOnly bool
	// User is who submitted it, for quotas and reports; empty is nobody. Tasks of a
	// higher Priority, which may be negative, wait before the others.
	User     string
	Priority int
	// Only lists the GPU models that it accepts; empty means any.
	Only []string
	// Memory is its true peak on each GPU.
	Memory profile.Bytes
	// Share is the part of each GPU that its user asked for, in (0, 1]; 0 means
	// that the user asked for none.
	Share float64
	// CPU is the number of cores and HostMemory the memory of the machine that
	// it needs in all.
	CPU        float64
	HostMemory profile.Bytes
	// Type names the task in measured tables. Models and policies may take tasks
	// of one Type, with one Profile, to be alike. Class is for [Contention].
	Type, Class string
	// Profile is what is known of it, for models that predict; may be nil.
	Profile *profile.Profile
	// Busy is the part of the SMs that it uses alone, Bandwidth that of memory
	// bandwidth, Occupancy that of the warps that fit, in [0, 1]. A Busy of 0 means 1 to
	// the power model.
	Busy, Bandwidth, Occupancy float64
	// Startup is the time from every start until it makes progress.
	Startup time.Duration
	// Profiling is how much longer the first start takes, on its GPUs, because the
	// task is measured alone before it makes progress. One that is stopped meanwhile
	// is not measured again. Not counted where [Options].RestartAll is set.
	Profiling time.Duration
	// Service is set for an inference service. Its Work is then how long it is up,
	// however fast it runs; speed only says how many requests it can serve.
	Service *profile.Server
	// Stages are for speed.Stages; the zero value has none.
	Stages StageTimes
	// Estimates are what published estimators say of Memory, by their names.
	Estimates map[string]profile.Bytes
}

// gpus is how many GPUs the task needs.
func (t *Task) gpus() int {
	switch {
	case t.HostOnly:
		return 0
	case t.GPUs == 0:
		return 1
	}
	return t.GPUs
}

// valid is Validate without the words.
func (t *Task) valid() bool {
	return t.ID != "" && t.Arrival >= 0 && t.Work > 0 && t.GPUs >= 0 && t.Memory >= 0 && t.HostMemory >= 0 &&
		t.Share >= 0 && t.Share <= 1 && t.CPU >= 0 && t.CPU < 1e9 && t.Startup >= 0 && t.Profiling >= 0 &&
		(t.Service == nil || t.Service.Valid()) && t.Busy >= 0 && t.Busy <= 1 && t.Bandwidth >= 0 && t.Bandwidth <= 1 && t.Occupancy >= 0 && t.Occupancy <= 1
}

// Validate reports every fault of the task.
func (t *Task) Validate() error {
	if t.valid() {
		return nil
	}
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, want %s", field, value, want))
		}
	}
	check(t.ID != "", "ID", "empty", "a name")
	check(t.Arrival >= 0, "Arrival", t.Arrival, "0 or more")
	check(t.Work > 0, "Work", t.Work, "more than 0")
	check(t.GPUs >= 0, "GPUs", t.GPUs, "0 or more")
	check(t.Memory >= 0, "Memory", int64(t.Memory), "0 bytes or more")
	check(t.HostMemory >= 0, "HostMemory", int64(t.HostMemory), "0 bytes or more")
	check(t.Share >= 0 && t.Share <= 1, "Share", t.Share, "0 to 1")
	check(t.CPU >= 0 && t.CPU < 1e9, "CPU", t.CPU, "0 or more")
	check(t.Busy >= 0 && t.Busy <= 1, "Busy", t.Busy, "0 to 1")
	check(t.Bandwidth >= 0 && t.Bandwidth <= 1, "Bandwidth", t.Bandwidth, "0 to 1")
	check(t.Occupancy >= 0 && t.Occupancy <= 1, "Occupancy", t.Occupancy, "0 to 1")
	check(t.Startup >= 0, "Startup", t.Startup, "0 or more")
	check(t.Service == nil || t.Service.Valid(), "Service", t.Service, "Rate and Capacity above 0, Swing of 0 to 1, and a peak that it can serve alone")
	check(t.Profiling >= 0, "Profiling", t.Profiling, "0 or more")
	return fmt.Errorf("sim: task %q: %w", t.ID, errors.Join(errs...))
}

// validateTasks reports the first task with faults and the first repeated ID.
func validateTasks(tasks []Task) error {
	seen := make(map[string]int, len(tasks))
	for i := range tasks {
		if err := tasks[i].Validate(); err != nil {
			return err
		}
		if j, ok := seen[tasks[i].ID]; ok {
			return fmt.Errorf("sim: tasks %d and %d have the same ID %q", j, i, tasks[i].ID)
		}
		seen[tasks[i].ID] = i
	}
	return nil
}

// StageTimes are what one iteration of a training task needs of each resource, in the
// order in which it needs them. They also say how long an iteration takes in all.
type StageTimes struct {
	// Load is storage and CPU, Compute the GPU, Exchange the network.
	Load, Compute, Exchange time.Duration
	// Iteration is the time of an iteration alone.
	Iteration time.Duration
}
