package script

import (
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/colloc/slurm/site"
)

// complete fills what the caller left open in a request with what the tasks
// need, and reports what the caller asked for that does not suffice: with it
// Slurm would let tasks wait for ever or run short without a word.
func complete(asked, need Request) (Request, error) {
	var errs []error
	short := func(field string, has, wants any) {
		errs = append(errs, fmt.Errorf("slurm: request: %s is %v, but the tasks need %v: leave it 0 or raise it", field, has, wants))
	}
	r := asked
	r.Gres = slices.Clone(asked.Gres)
	for _, f := range []struct {
		field string
		value *int
		need  int
	}{{"Nodes", &r.Nodes, need.Nodes}, {"TasksPerNode", &r.TasksPerNode, need.TasksPerNode}} {
		if *f.value == 0 {
			*f.value = f.need
		}
		if *f.value != f.need {
			errs = append(errs, fmt.Errorf("slurm: request: %s is %d, but the script is made for %d", f.field, *f.value, f.need))
		}
	}
	if r.CPUsPerTask == 0 {
		r.CPUsPerTask = need.CPUsPerTask
	}
	if r.CPUsPerTask < need.CPUsPerTask {
		short("CPUsPerTask", r.CPUsPerTask, need.CPUsPerTask)
	}
	if r.Memory == 0 {
		r.Memory = need.Memory
	}
	if r.Memory < need.Memory {
		short("Memory", r.Memory, need.Memory)
	}
	if err := completeGPUs(&r, gpusOf(need.Gres)); err != nil {
		errs = append(errs, err)
	}
	return r, errors.Join(errs...)
}

// completeGPUs sees to n GPUs on each node.
func completeGPUs(r *Request, n int) error {
	if len(r.Gres) == 0 {
		if n > 0 {
			r.Gres = []site.Gres{{Name: "gpu", Count: n}}
		}
		return nil
	}
	for i, g := range r.Gres {
		if g.Name == "gpu" && g.Count == 0 {
			r.Gres[i].Count = n - gpusOf(r.Gres)
		}
	}
	if n == 1 && slices.ContainsFunc(r.Gres, func(g site.Gres) bool { return g.Name == "shard" || g.Name == "mps" }) {
		return nil // the site divides the GPU
	}
	if has := gpusOf(r.Gres); has < n {
		return fmt.Errorf("slurm: request: Gres has %d GPUs on each node, but the tasks need %d: give the type with Count 0, or enough", has, n)
	}
	return nil
}

func gpusOf(list []site.Gres) int {
	n := 0
	for _, g := range list {
		if g.Name == "gpu" && g.Count > 0 && g.Count <= maxCount {
			n += g.Count
		}
	}
	return n
}

// sum adds up what tasks need that run at the same time on one node.
func sum(tasks []Task) Request {
	var r Request
	for i := range tasks {
		r.CPUsPerTask += tasks[i].cpus()
		r.Memory += tasks[i].Memory
	}
	r.Nodes, r.TasksPerNode = 1, 1
	return r
}
