package sim

import (
	"time"

	"example.com/colloc/profile"
)

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
	// ID, Type, User, Priority, Profile, Arrival, Startup, GPUs, OneNode, HostOnly, Only, Share,
	// CPU and HostMemory are what was submitted, see [Task].
	ID         string
	Type       string
	User       string
	Priority   int
	Profile    *profile.Profile
	Arrival    time.Duration
	Startup    time.Duration
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
	// Floor is the speed that a service needs at its peak to keep its limit on
	// latency; 0 for other tasks.
	Floor float64
	// Length is the predicted run time alone on the reference GPU.
	Length time.Duration
	// Guessed says that nobody knows it, and that Length is what similar tasks took: for
	// policies that cannot do without.
	Guessed bool
	// Reserve is the predicted peak memory on each GPU, Likely what is expected of it,
	// see [Options].
	Reserve, Likely profile.Bytes
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

// Failed reports whether it was given up.
func (t *TaskView) Failed() bool { return t.status == failed }

// GPUView is what a scheduler sees of a GPU. It must not be modified.
type GPUView struct {
	// Index names the GPU in actions, Node its machine.
	Index, Node int
	// GPU is the card; see [GPU].
	*GPU
	// Up is false while the GPU is lost.
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
	// Busy, Bandwidth and Occupancy are the parts of SMs, memory bandwidth and warps
	// that monitoring shows in use, in [0, 1].
	Busy, Bandwidth, Occupancy float64
	// Since is when the set last changed.
	Since time.Duration
}

// Free is the memory that is not reserved.
func (g *GPUView) Free() profile.Bytes { return g.Total - g.Reserved }

// NodeView is what a scheduler sees of a machine. It must not be modified.
type NodeView struct {
	// Index names the machine.
	Index int
	// First and Count are its GPUs.
	First, Count int
	// CPU and Memory are what is left of the host's, of TotalCPU and TotalMemory. CPU is
	// less than 0 where more cores are wanted than there are, see [Options].ShareCPU.
	CPU, TotalCPU       float64
	Memory, TotalMemory profile.Bytes
}

// status is where a task is in its life.
type status uint8

const (
	submitted status = iota // not yet
	waiting
	running
	finished
	failed
)

func (s status) String() string {
	return [...]string{"not submitted", "waiting", "running", "finished", "given up"}[s]
}

// Launch is where a task starts.
type Launch struct {
	// Task is the task's index.
	Task int
	// GPUs are as many different GPUs as the task needs.
	GPUs []int
	// Node is the machine of a task that needs no GPU.
	Node int
	// Mechanism is how the sets on those GPUs share from now on; the zero value
	// means time-slicing.
	Mechanism profile.Mechanism
	// Reserve is the memory set aside on each GPU; missing means what was
	// predicted. Schedulers that ignore memory reserve 0.
	Reserve profile.Opt[profile.Bytes]
}

// EventKind is what happened.
type EventKind int

// The kinds of events.
const (
	// Arrival: a task was submitted.
	Arrival EventKind = iota + 1
	// Start: a task was placed on GPUs.
	Start
	// SpeedChange: a running task's speed is another, because its neighbours
	// changed.
	SpeedChange
	// Checkpoint: a task's progress was saved.
	Checkpoint
	// Preemption: the policy stopped a task.
	Preemption
	// OutOfMemory: a task died because its memory did not fit.
	OutOfMemory
	// Recovery: a task that had died or was lost started again.
	Recovery
	// Failure: a task was given up.
	Failure
	// Finish: a task's work is done.
	Finish
	// GPULoss: a GPU failed; the tasks on it wait again.
	GPULoss
	// GPUReturn: a GPU is back.
	GPUReturn
)

// String returns a short name such as "out-of-memory".
func (k EventKind) String() string {
	names := [...]string{
		"none", "arrival", "start", "speed-change", "checkpoint", "preemption", "out-of-memory",
		"recovery", "failure", "finish", "gpu-loss", "gpu-return",
	}
	if k < 0 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// MarshalText writes what String returns.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Event is something that happened.
type Event struct {
	At   time.Duration `json:"at_ns"`
	Kind EventKind     `json:"kind"`
	// Task is the task's ID, empty for events of GPUs; Index its number, -1 for
	// those.
	Task  string `json:"task,omitempty"`
	Index int    `json:"-"`
	// GPUs are those concerned.
	GPUs []int `json:"gpus,omitempty"`
	// Speed is the task's from now on, for SpeedChange; a task that starts runs at
	// 1 unless a SpeedChange follows at the same time.
	Speed float64 `json:"speed,omitempty"`
	// Memory is, for OutOfMemory, what would have been needed and Total what
	// there is.
	Memory profile.Bytes `json:"memory_bytes,omitempty"`
	Total  profile.Bytes `json:"total_bytes,omitempty"`
}
