package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// Shared returns one job with a GPU for each set, all on one node. The tasks of
// a set run side by side on its GPU, by turns or under an MPS daemon that the
// script starts for that GPU alone, in a private directory, and stops.
//
// Each task is a process group of its own. The script passes TERM, INT and USR1 on to all of them, waits for every one,
// prints its exit code, and ends with 143 after TERM (130 after INT), else with
// the first exit code that is not 0, in the order of the tasks.
//
// Device memory: under MPS the driver refuses a task more than its GPUMemory.
// Otherwise nothing fences it. TensorFlow and JAX are told to allocate only
// what they use, and each task finds its share in COLLOC_GPU_MEMORY_MIB, which
// a PyTorch program can respect with
//
//	torch.cuda.set_per_process_memory_fraction(
//		int(os.environ["COLLOC_GPU_MEMORY_MIB"]) * 2**20 / torch.cuda.mem_get_info()[1])
//
// It returns an error that joins every fault of sets and options.
func Shared(sets []Set, o *Options) (Job, error) {
	opt := o.defaults()
	tasks := allTasks(sets)
	need := sum(tasks)
	need.Gres = []site.Gres{{Name: "gpu", Count: len(sets)}}
	request, err := finish(&opt, need, checkSets(sets), checkTasks(tasks))
	if err != nil {
		return Job{}, err
	}
	b := &body{options: &opt}
	b.sets(sets, tasks)
	ordinal := 0
	for i := range sets {
		b.startSet(&sets[i], i, ordinal)
		ordinal += len(sets[i].Tasks)
	}
	if slices.ContainsFunc(tasks, func(t Task) bool { return t.Peak }) {
		b.printf("%s", framePeak)
	}
	b.tail()
	return Job{Request: request, Body: b.text.String()}, nil
}

func allTasks(sets []Set) []Task {
	var tasks []Task
	for _, s := range sets {
		tasks = append(tasks, s.Tasks...)
	}
	return tasks
}

func checkSets(sets []Set) error {
	var errs []error
	if len(sets) == 0 {
		errs = append(errs, errors.New("slurm: there are no sets: nothing to run"))
	}
	for i, s := range sets {
		switch {
		case len(s.Tasks) == 0:
			errs = append(errs, fmt.Errorf("slurm: set %d has no tasks", i))
		case s.Mechanism == profile.Exclusive && len(s.Tasks) > 1:
			errs = append(errs, fmt.Errorf("slurm: set %d has %d tasks but is exclusive: say how they share", i, len(s.Tasks)))
		case s.Mechanism < profile.Exclusive || s.Mechanism > profile.MIG:
			errs = append(errs, fmt.Errorf("slurm: set %d: mechanism %d is none", i, s.Mechanism))
		}
		for _, t := range s.Tasks {
			if t.GPUs != 0 {
				errs = append(errs, fmt.Errorf("slurm: set %d: task %q asks for %d GPUs of its own, but a set is on one: leave GPUs 0", i, t.Name, t.GPUs))
			}
		}
	}
	return errors.Join(errs...)
}

// sets writes everything of a script before the tasks start.
func (b *body) sets(sets []Set, tasks []Task) {
	b.head(fmt.Sprintf("GPUs of one node: %d, tasks: %d.", len(sets), len(tasks)), false, slices.ContainsFunc(sets, func(s Set) bool { return s.daemon() }))
	for _, s := range sets {
		for i := range s.Tasks {
			t := &s.Tasks[i]
			b.function(t, role{gpu: true, shared: len(s.Tasks) > 1 || s.Neighbours, mps: s.Mechanism == profile.MPS, threads: t.cpus()})
		}
	}
	b.printf(frameGPUs, len(sets))
	if s := &sets[0]; s.Neighbours && s.Tasks[0].GPUMemory >= profile.MiB {
		b.printf(frameRoom, int64(s.Tasks[0].GPUMemory/profile.MiB))
	}
	b.logs(tasks)
}

// startSet starts the tasks of one set; ordinal is the number of its first.
func (b *body) startSet(s *Set, gpu, ordinal int) {
	device := fmt.Sprintf(`"${gpus[%d]}"`, gpu)
	b.printf("# GPU %d: %v\n", gpu, s.Mechanism)
	if s.daemon() {
		b.printf("mps %d %s\n", gpu, device)
		device = `"$client"`
	}
	for i := range s.Tasks {
		b.start(&s.Tasks[i], ordinal+i, "task_"+strconv.Itoa(ordinal+i)+" "+device)
	}
	if s.daemon() {
		b.printf("unset CUDA_MPS_PIPE_DIRECTORY\n")
	}
}
