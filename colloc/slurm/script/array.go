package script

import (
	"fmt"
	"strconv"

	"example.com/colloc/colloc/slurm/site"
)

// Array returns a job array for a sweep: element i runs set i on a GPU of its
// own, as [Shared] runs it, wherever Slurm finds one free. Each element asks
// for what the largest set needs. At most [Options].Limit elements run at a
// time.
//
// It returns an error that joins every fault, and for more sets than
// [Options].MaxArraySize: give those in parts.
func Array(sets []Set, o *Options) (Job, error) {
	opt := o.defaults()
	if len(sets) > opt.MaxArraySize {
		return Job{}, fmt.Errorf("slurm: array: %d sets, but the site's MaxArraySize is %d: give them in parts", len(sets), opt.MaxArraySize)
	}
	need := Request{Gres: []site.Gres{{Name: "gpu", Count: 1}}, Nodes: 1, TasksPerNode: 1, Array: indices(len(sets), opt.Limit)}
	for _, s := range sets {
		one := sum(s.Tasks)
		need.CPUsPerTask = max(need.CPUsPerTask, one.CPUsPerTask)
		need.Memory = max(need.Memory, one.Memory)
	}
	tasks := allTasks(sets)
	request, err := finish(&opt, need, checkSets(sets), checkTasks(tasks), opt.checkMemory(sets))
	if err != nil {
		return Job{}, err
	}
	b := &body{options: &opt}
	b.sets(sets, fmt.Sprintf("Sets, each an element of the array: %d, tasks: %d.", len(sets), len(tasks)), 1)
	b.printf("\ncase ${SLURM_ARRAY_TASK_ID-} in\n")
	ordinal := 0
	for i := range sets {
		b.printf("%d)\n", i)
		b.startSet("  ", &sets[i], 0, ordinal, &request)
		b.printf("  ;;\n")
		ordinal += len(sets[i].Tasks)
	}
	b.printf("*)\n  echo \"colloc: no set has the array index '${SLURM_ARRAY_TASK_ID-}'\" >&2\n  exit 1\n  ;;\nesac\n")
	b.tail()
	return Job{Request: request, Body: b.text.String()}, nil
}

// indices returns the value of --array for n elements.
func indices(n, limit int) string {
	text := "0"
	if n > 1 {
		text += "-" + strconv.Itoa(n-1)
	}
	if limit > 0 {
		text += "%" + strconv.Itoa(limit)
	}
	return text
}
