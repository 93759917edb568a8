package packer

// plan is an assignment under construction: the GPU of each task, or none.
// Tasks count in instance order, GPUs as in Problem.GPUs.
// Of the GPUs of a gang one stands for all; more holds the others.
type plan struct {
	gpu  []int32
	more map[int32][]int32
}

func newPlan(in *instance) *plan {
	pl := &plan{gpu: make([]int32, len(in.tasks)), more: map[int32][]int32{}}
	for i := range pl.gpu {
		pl.gpu[i] = none
	}
	return pl
}

// proof is what a method knows about the best plan: prices of tasks and GPUs, in
// quarters of a unit, and what they prove.
type proof struct {
	tasks []int64
	gpus  []int64 // as the caller counts them
	odd   []oddSet
	bound int64
}

// oddSet is an odd set of tasks, and of GPUs as the caller counts them, with its
// price.
type oddSet struct {
	tasks []int32
	gpus  []int
	price int64
}
