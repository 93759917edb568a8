package sim

import (
	"time"

	"example.com/colloc/profile"
)

// Policy describes how to schedule: a struct literal whose zero fields are
// defaults. One value serves any number of runs, also at once.
type Policy interface {
	// Name is short and says which variant it is, for example "carma-magm".
	Name() string
	// Begin returns the scheduler for one run on the empty cluster that s shows.
	Begin(s *State) (Scheduler, error)
}

// Scheduler takes the decisions of one run.
//
// Decide is called once at every moment at which something happened: tasks
// arrived, finished, died or were lost, GPUs failed or returned, a wake-up that
// the scheduler asked for is due. It acts by [State.Place], [State.Stop],
// [State.Repartition] and [State.WakeAt], and sees the effect of its actions on
// the State at once. Whatever it does not place waits. An error ends the run.
type Scheduler interface {
	Decide(s *State) error
}

// Learner is a Scheduler that wants to know what was measured.
type Learner interface {
	Scheduler
	// Observe is called just before a set that ran long enough changes, also by
	// the scheduler's own actions, and when a task dies for lack of memory. It
	// must not act.
	Observe(o *CoRun) error
}

// CoRun is what was measured of a set. It is valid during the call only.
type CoRun struct {
	// GPU is where, Mechanism how they shared.
	GPU       *GPUView
	Mechanism profile.Mechanism
	// Set are the members, Speeds the work that each did per unit of time.
	Set    []*TaskView
	Speeds []float64
	// For is how long the set ran.
	For time.Duration
	// OutOfMemory is the member that died, or nil.
	OutOfMemory *TaskView
}

// TaskView is what a scheduler sees of a task that has arrived. It must not be
// modified.
type TaskView struct {
	// Index names the task in actions; tasks are numbered by arrival.
	Index int
	// ID, Type, Profile, Arrival, GPUs, OneNode, HostOnly, Only, Share, CPU and
	// HostMemory are what was submitted, see [Task].
	ID         string
	Type       string
	Profile    *profile.Profile
	Arrival    time.Duration
	GPUs       int
	OneNode    bool
	HostOnly   bool
	Only       []string
	Share      float64
	CPU        float64
	HostMemory profile.Bytes
	// Busy and Bandwidth are what profiling says of the task alone, Stages the
	// stages of one iteration.
	Busy, Bandwidth float64
	Stages          StageTimes
	// Length is the predicted run time alone on the reference GPU.
	Length time.Duration
	// Reserve is the predicted peak memory on each GPU.
	Reserve profile.Bytes
	// On are the GPUs where it runs; empty while it waits. Node is the machine
	// of a HostOnly task that runs.
	On   []int
	Node int
	// Since is when it began to wait or to run.
	Since time.Duration
	// Deaths counts how often it ran out of memory.
	Deaths int
	// Attained is the GPU time that it has used up to Since; see
	// [State.Attained].
	Attained time.Duration

	status   status
	reserved profile.Bytes // on each of its GPUs
}

// Running reports whether the task was placed and did not end.
func (t *TaskView) Running() bool { return t.status == running }

// Ended reports whether the task finished or was given up.
func (t *TaskView) Ended() bool { return t.status > running }

// GPUView is what a scheduler sees of a GPU. It must not be modified.
type GPUView struct {
	// Index names the GPU in actions, Node its machine.
	Index, Node int
	// GPU is the card; see [GPU].
	*GPU
	// Up is false while the GPU is lost, being re-partitioned, or cut into MIG
	// instances.
	Up bool
	// Total is its memory, Reserved what was set aside for its tasks, Used what
	// monitoring shows in use.
	Total, Reserved, Used profile.Bytes
	// Share is the sum of the shares that its tasks asked for.
	Share float64
	// Set are its tasks in the order in which they came, Mechanism how they
	// share.
	Set       []*TaskView
	Mechanism profile.Mechanism
	// Busy and Bandwidth are the parts of SMs and memory bandwidth that
	// monitoring shows in use, in [0, 1].
	Busy, Bandwidth float64
	// Since is when the set last changed.
	Since time.Duration
}

// Free is the memory that is not reserved.
func (g *GPUView) Free() profile.Bytes { return g.Total - g.Reserved }

// NodeView is what a scheduler sees of a machine. It must not be modified.
type NodeView struct {
	// Index names the machine.
	Index int
	// First and Count are its GPUs, MIG instances not among them.
	First, Count int
	// CPU and Memory are what is left of the host's, of TotalCPU and TotalMemory.
	CPU, TotalCPU       float64
	Memory, TotalMemory profile.Bytes
}
