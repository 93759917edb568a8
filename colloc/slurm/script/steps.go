package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.com/colloc/colloc/slurm/site"
)

// Steps returns one job, on one node, in which every task is a job step with
// CPUs, memory and GPUs of its own that no other step can take. All run at the
// same time.
//
// Each resource is spelled out for every step, and what the job asks for covers
// their sum: a step that finds too little free, or that asks for nothing and so
// gets all the job has, makes the others wait without a word. Therefore every
// task must state its Memory.
//
// It returns an error that joins every fault and names what does not add up.
// Signals, exit codes and logs are as for [Shared].
func Steps(tasks []Task, o *Options) (Job, error) {
	opt := o.defaults()
	need := sum(tasks)
	errs := []error{checkTasks(tasks)}
	gpus := 0
	for i := range tasks {
		t := &tasks[i]
		gpus += t.GPUs
		if t.Memory == 0 {
			errs = append(errs, fmt.Errorf("slurm: task %d (%q): Memory is 0: a step without --mem takes all memory of the job, and the others wait", i, t.Name))
		}
	}
	if len(tasks) == 0 {
		errs = append(errs, errors.New("slurm: there are no tasks: nothing to run"))
	}
	if gpus > 0 {
		need.Gres = []site.Gres{{Name: "gpu", Count: gpus}}
	}
	request, err := finish(&opt, need, errs...)
	if err != nil {
		return Job{}, err
	}
	b := &body{options: &opt}
	b.head(fmt.Sprintf("Job steps with CPUs, memory and GPUs of their own: %d.", len(tasks)), true, false)
	for i := range tasks {
		b.function(&tasks[i], role{threads: tasks[i].cpus()})
	}
	b.printf("\n")
	b.logs(tasks)
	for i := range tasks {
		b.start(&tasks[i], i, "step task_"+strconv.Itoa(i)+" '' "+private(&tasks[i]))
	}
	b.tail()
	return Job{Request: request, Body: b.text.String()}, nil
}

// finish checks the options and completes the request, unless something is wrong
// already.
func finish(o *Options, need Request, errs ...error) (Request, error) {
	if err := errors.Join(append([]error{o.check()}, errs...)...); err != nil {
		return Request{}, err
	}
	request, err := complete(o.Request, need)
	if err != nil {
		return Request{}, err
	}
	_, err = request.Header()
	return request, err
}

// private returns srun's options for a step that shares nothing.
func private(t *Task) string {
	gres := "--gres=none" // otherwise a step gets all GPUs of the job
	if t.GPUs > 0 {
		gres = "--gres=gpu:" + strconv.Itoa(t.GPUs)
	}
	return strings.Join([]string{
		"--exact", "--nodes=1", "--ntasks=1", "--cpus-per-task=" + strconv.Itoa(t.cpus()), "--mem=" + megabytes(t.Memory), gres,
	}, " ")
}
