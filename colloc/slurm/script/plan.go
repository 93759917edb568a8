package script

import (
	"errors"
	"fmt"

	"example.com/colloc/colloc"
)

// Script turns a plan into a batch job: each placement becomes a [Set] on a GPU
// of its own, in one job on one node (see [Shared]) or, with [Options].Array, in
// one element of a job array (see [Array]). Slurm chooses the GPUs: the plan's
// names say who shares, not where.
//
// tasks are those that the plan places, by Name: what it reserved for a task
// becomes its GPUMemory unless that is set. Tasks that the plan left waiting are
// left out. It returns an error for a plan that places nothing, for a task of
// the plan that is not among tasks, and for a placement beside residents: those
// run in a job of their own, which no other job can enter unless the site
// offers shards.
func Script(plan *colloc.Plan, tasks []Task, o *Options) (Job, error) {
	sets, err := Sets(plan, tasks)
	if err != nil {
		return Job{}, err
	}
	if o != nil && o.Array {
		return Array(sets, o)
	}
	return Shared(sets, o)
}

// Sets returns the sets of a plan, in its order, as [Script] uses them. Tasks of
// several GPUs are an error: a script gives each task one.
func Sets(plan *colloc.Plan, tasks []Task) ([]Set, error) {
	if plan == nil || len(plan.Placements) == 0 {
		return nil, errors.New("slurm: plan: it places no task: there is nothing to run")
	}
	byName := make(map[string]*Task, len(tasks))
	for i := range tasks {
		byName[tasks[i].Name] = &tasks[i]
	}
	var errs []error
	sets := make([]Set, len(plan.Placements))
	for i, p := range plan.Placements {
		sets[i].Mechanism = p.Mechanism
		if len(p.Gang) > 0 {
			errs = append(errs, fmt.Errorf("slurm: plan: GPU %q: task %q takes %d GPUs at once: submit it by itself, as a job that asks for them", p.GPU, p.Members[0].Task, len(p.Gang)))
			continue
		}
		for _, m := range p.Members {
			known := byName[m.Task]
			switch {
			case m.Resident:
				errs = append(errs, fmt.Errorf("slurm: plan: GPU %q: task %q runs there already, in a job of its own: submit the others with shards", p.GPU, m.Task))
			case known == nil:
				errs = append(errs, fmt.Errorf("slurm: plan: GPU %q: task %q is not among the tasks: how is it run?", p.GPU, m.Task))
			default:
				t := *known
				if t.GPUMemory == 0 {
					t.GPUMemory = m.Reserved
				}
				sets[i].Tasks = append(sets[i].Tasks, t)
			}
		}
	}
	return sets, errors.Join(errs...)
}
