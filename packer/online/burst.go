package online

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
)

const (
	// maxBurst is how many tasks and GPUs a burst is planned for as one problem.
	maxBurst = 4096
	// stepsPerTask is how long a search lasts.
	stepsPerTask = 60
)

// ArriveAll takes in a burst of tasks at once and says, in their order, where
// they run or that they wait: [solve.Matching], or [solve.LocalSearch] where Limits.MaxSet is
// above 2, plans them together around what runs already, so that those that go
// well together meet. What a task adds must
// reach the threshold here too; those that the plan leaves out, and all tasks
// where there are more than 4096 with the GPUs, go one at a time.
//
// An invalid task is an error, and so is a failing Model before the first task
// has started; the session is then as before. A Model that fails later leaves
// the rest waiting. When ctx is cancelled the plan is the best so far, all tasks
// have arrived, and the error is ctx.Err().
func (s *Session) ArriveAll(ctx context.Context, tasks []packer.Task) ([]Decision, error) {
	seen := make(map[string]int, len(tasks))
	for i := range tasks {
		if err := s.admissible(&tasks[i]); err != nil {
			return nil, err
		}
		if first, dup := seen[tasks[i].ID]; dup {
			return nil, fmt.Errorf("packer: session: the burst has task %q twice, at %d and %d", tasks[i].ID, first, i)
		}
		seen[tasks[i].ID] = i
	}
	sets, stop := s.plan(ctx, tasks)
	if stop != nil && (ctx.Err() == nil || !errors.Is(stop, ctx.Err())) {
		return nil, stop
	}
	jobs := make([]*job, len(tasks))
	for i := range tasks {
		jobs[i] = s.newJob(&tasks[i])
		s.enqueue(jobs[i])
	}
	out := make([]Decision, len(tasks))
	errs := s.startSets(sets, jobs, out)
	for i, j := range jobs {
		if j.gpu == none {
			d, err := s.settle(j)
			out[i], errs = d, errors.Join(errs, err)
		}
		out[i].Task = j.task.ID
	}
	for i, j := range jobs { // those that came later have changed the speeds
		out[i].Speed = j.speed
		if j.gpu != none {
			out[i].Mechanism = s.cards[j.gpu].mech
		}
	}
	return out, errors.Join(errs, stop)
}

// plan returns good sets for new tasks, GPUs by the session's indices.
func (s *Session) plan(ctx context.Context, tasks []packer.Task) ([]packer.Set, error) {
	p, at := s.problem(false)
	if len(tasks) < 2 || len(tasks)+len(at) > maxBurst {
		return nil, nil
	}
	p.Tasks = tasks
	var method packer.Method = solve.Matching{}
	if p.Limits.LargestSet() > 2 {
		method = solve.LocalSearch{Steps: stepsPerTask * len(tasks)}
	}
	sol, err := method.Pack(ctx, p)
	if sol == nil {
		return nil, err
	}
	for i := range sol.Sets {
		sol.Sets[i].GPU = at[sol.Sets[i].GPU]
	}
	return sol.Sets, err
}

// startSets starts the waiting jobs of the sets where they reach the threshold.
func (s *Session) startSets(sets []packer.Set, jobs []*job, out []Decision) error {
	var errs error
	for _, set := range sets {
		slices.SortStableFunc(set.Tasks, func(a, b int) int {
			return cmp.Compare(jobs[b].task.EffectiveWeight(), jobs[a].task.EffectiveWeight())
		})
		for _, i := range set.Tasks {
			v, err := s.joinable(int32(set.GPU), jobs[i])
			if err == nil && v > 0 {
				out[i], err = s.start(jobs[i], int32(set.GPU))
			}
			errs = errors.Join(errs, err)
		}
	}
	return errs
}
