package instance

// Plan is an assignment under construction: the GPU of each task, or none.
// Tasks count in instance order, GPUs as in Problem.GPUs.
// Of the GPUs of a gang one stands for all; more holds the others.
type Plan struct {
	Gpu  []int32
	More map[int32][]int32
}

// NewPlan is the plan in which all tasks wait.
func NewPlan(in *Instance) *Plan {
	pl := &Plan{Gpu: make([]int32, len(in.Tasks)), More: map[int32][]int32{}}
	for i := range pl.Gpu {
		pl.Gpu[i] = none
	}
	return pl
}

// Proof is what a method knows about the best plan: prices of tasks and GPUs, in
// quarters of a unit, and what they prove.
type Proof struct {
	Tasks []int64
	GPUs  []int64 // as the caller counts them
	Odd   []OddSet
	Bound int64
}

// OddSet is an odd set of tasks, and of GPUs as the caller counts them, with its
// price.
type OddSet struct {
	Tasks []int32
	GPUs  []int
	Price int64
}
