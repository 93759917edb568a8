package trace

import (
	"fmt"
	"io"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/profile"
)

// ReadDay reads a day of trainings that ran on real GPUs (AEGIS: job,arrival_s,workload), each
// of which is described by a run alone. file names the source in errors, as predict/dataset does;
// a workload that nobody ran alone is one. The tasks are in the order of the file, with their
// Profile, Estimates and true peaks; Busy is the activity of the SMs, or where nobody saw
// that the time in which a kernel ran.
func ReadDay(file string, r io.Reader, alone []dataset.SoloRow) ([]sim.Task, error) {
	byName := make(map[string]*dataset.SoloRow, len(alone))
	for i := range alone {
		byName[alone[i].Name] = &alone[i]
	}
	var tasks []sim.Task
	seen := map[string]bool{}
	err := readRows(r, layout{name: "day", need: []string{"job", "arrival_s", "workload"}}, func(r *row) {
		name := r.name("workload")
		solo := byName[name]
		id := r.name("job")
		switch {
		case r.err != nil:
			return
		case solo == nil:
			r.fail("workload", "is %q, which nobody ran alone", name)
			return
		case seen[id]:
			r.fail("job", "is %q, which was there already", id)
			return
		}
		seen[id] = true
		t := dayTask(solo)
		t.ID, t.Arrival = id, r.duration("arrival_s", time.Second)
		if err := t.Validate(); err != nil {
			r.fail("workload", "%v", err)
		}
		tasks = append(tasks, t)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(tasks) == 0 {
		return nil, fmt.Errorf("trace: %s: no tasks after the header", file)
	}
	rebase(tasks)
	return tasks, nil
}

// dayTask is a training as it ran alone.
func dayTask(s *dataset.SoloRow) sim.Task {
	v := &s.Profile.Vector
	return sim.Task{
		Work: s.Time, GPUs: s.GPUs, OneNode: true, Memory: profile.BytesOf(v.Or(profile.PeakMemory, 0)), Type: s.Name, Profile: s.Profile,
		Busy: v.Or(profile.MeanSMActive, v.Or(profile.MeanGPUBusy, 0)), Bandwidth: v.Or(profile.MeanDRAMActive, 0), Occupancy: v.Or(profile.MeanSMOccupancy, 0),
		Estimates: s.Estimates,
	}
}

// Run is what a policy came to on a day that was run on real GPUs.
type Run struct {
	Day, Policy string
	// Makespan is the time from the first arrival to the last end. The means are of completion
	// times and of waits. MeanExecution is that of the time that a task ran, over all its attempts.
	Makespan, MeanJCT, MeanWait, MeanExecution time.Duration
	// OutOfMemory counts deaths for lack of memory. Energy is that of the GPUs in joules.
	OutOfMemory int
	Energy      float64
}

// ReadRuns reads what policies came to on measured days. file names the source
// in errors. A policy that is there twice on one day is an error.
func ReadRuns(file string, r io.Reader) ([]Run, error) {
	var runs []Run
	seen := map[[2]string]bool{}
	need := []string{"day", "policy", "makespan_s", "mean_jct_s", "mean_wait_s", "mean_execution_s", "out_of_memory", "energy_j"}
	err := readRows(r, layout{name: "runs", need: need}, func(r *row) {
		run := Run{
			Day: r.name("day"), Policy: r.name("policy"),
			Makespan: r.duration("makespan_s", time.Second), MeanJCT: r.duration("mean_jct_s", time.Second),
			MeanWait: r.duration("mean_wait_s", time.Second), MeanExecution: r.duration("mean_execution_s", time.Second),
			OutOfMemory: r.count("out_of_memory", 1<<30), Energy: r.number("energy_j", 1e15),
		}
		if r.err == nil && (run.Makespan == 0 || run.MeanJCT == 0) {
			r.fail("makespan_s", "or mean_jct_s is 0, want more")
		}
		if key := [2]string{run.Day, run.Policy}; seen[key] {
			r.fail("policy", "is %q, which was there already for %q", run.Policy, run.Day)
		} else {
			seen[key] = true
		}
		runs = append(runs, run)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return runs, nil
}
