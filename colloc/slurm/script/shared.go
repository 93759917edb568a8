package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// Shared returns one job with a GPU for each set, all on one node. The tasks of
// a set run side by side on its GPU, by turns or under an MPS daemon that the
// script starts for that GPU alone, in a private directory, and stops.
//
// Each task is a process group of its own, or with [Options].Steps a job step.
// The script passes TERM, INT and USR1 on to all of them, waits for every one,
// prints its exit code, and ends with 143 after TERM (130 after INT), else with
// the first exit code that is not 0, in the order of the tasks. With
// [Options].StopOnFailure that is the first in time.
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
	request, err := finish(&opt, need, checkSets(sets), checkTasks(tasks), opt.checkMemory(sets))
	if err != nil {
		return Job{}, err
	}
	b := &body{options: &opt}
	b.sets(sets, fmt.Sprintf("GPUs of one node: %d, tasks: %d.", len(sets), len(tasks)), len(sets))
	ordinal := 0
	for i := range sets {
		b.startSet("", &sets[i], i, ordinal, &request)
		ordinal += len(sets[i].Tasks)
	}
	if slices.ContainsFunc(tasks, func(t Task) bool { return t.Peak }) && !opt.Steps {
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

// headroom is what a set leaves free of a GPU: contexts, and what allocators
// waste.
const headroom = 0.1

// checkMemory holds what sets reserve against the GPU.
func (o *Options) checkMemory(sets []Set) error {
	usable := colloc.Usable(o.GPUMemory, headroom)
	var errs []error
	for i, s := range sets {
		var total profile.Bytes
		for _, t := range s.Tasks {
			total += min(max(t.GPUMemory, 0), maxMemory)
		}
		if o.GPUMemory > 0 && total > usable {
			errs = append(errs, fmt.Errorf("slurm: set %d reserves %v, but a GPU of %v offers %v: take a task out, or lower its GPUMemory", i, total, o.GPUMemory, usable))
		}
	}
	return errors.Join(errs...)
}

// sets writes everything of a script before the tasks start.
func (b *body) sets(sets []Set, about string, gpus int) {
	mps := false
	for _, s := range sets {
		mps = mps || s.daemon()
	}
	b.head(about, b.options.Steps, mps)
	for _, s := range sets {
		for i := range s.Tasks {
			t := &s.Tasks[i]
			b.function(t, role{gpu: true, shared: len(s.Tasks) > 1 || s.Neighbours, mps: s.Mechanism == profile.MPS, threads: t.cpus()})
		}
	}
	b.printf(frameGPUs, gpus)
	if s := &sets[0]; s.Neighbours && s.Tasks[0].GPUMemory >= profile.MiB {
		b.printf(frameRoom, int64(s.Tasks[0].GPUMemory/profile.MiB))
	}
	b.logs(allTasks(sets))
}

// startSet starts the tasks of one set; ordinal is the number of its first.
func (b *body) startSet(indent string, s *Set, gpu, ordinal int, r *Request) {
	device := fmt.Sprintf(`"${gpus[%d]}"`, gpu)
	b.printf("%s# GPU %d: %v\n", indent, gpu, s.Mechanism)
	if s.daemon() {
		b.printf("%smps %d %s\n", indent, gpu, device)
		device = `"$client"`
	}
	for i := range s.Tasks {
		t := &s.Tasks[i]
		command := "task_" + strconv.Itoa(ordinal+i) + " " + device
		if b.options.Steps {
			command = "step " + command + " " + overlap(t, r)
		}
		b.start(indent, t, ordinal+i, command)
	}
	if s.daemon() {
		b.printf("%sunset CUDA_MPS_PIPE_DIRECTORY\n", indent)
	}
}

// overlap returns srun's options for a task that shares its GPU. Each step asks
// for all GPUs of the job and picks by CUDA_VISIBLE_DEVICES: steps that overlap
// and ask for one would all get the first.
func overlap(t *Task, r *Request) string {
	args := []string{"--overlap", "--nodes=1", "--ntasks=1", "--cpus-per-task=" + strconv.Itoa(t.cpus())}
	if t.Memory > 0 {
		args = append(args, "--mem="+megabytes(t.Memory))
	}
	if gres, err := gresList(r.Gres); err == nil && gres != "" {
		args = append(args, "--gres="+gres)
	}
	return strings.Join(args, " ")
}
