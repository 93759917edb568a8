package sim

import (
	"time"

	"example.com/colloc/profile"
)

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
	// Repartition: a GPU's MIG layout began to change.
	Repartition
)

// String returns a short name such as "out-of-memory".
func (k EventKind) String() string {
	names := [...]string{
		"none", "arrival", "start", "speed-change", "checkpoint", "preemption", "out-of-memory",
		"recovery", "failure", "finish", "gpu-loss", "gpu-return", "repartition",
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
