package online

import (
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// DefaultThreshold is the least that a task must add under the plain rule to GPUs that run others. It
// is a fraction of what the task would do there alone.
const DefaultThreshold = 0.05

// Decision says where a task went.
type Decision struct {
	// Task is the ID.
	Task string `json:"task"`
	// Placed is false if the task stops, to make room or to move; the other fields are then zero.
	Placed bool `json:"placed"`
	// GPU is an index, as given to NewScheduler or told by AddGPU. Of a gang it is the first;
	// Gang are the others.
	GPU  int   `json:"gpu"`
	Gang []int `json:"gang,omitempty"`
	// Mechanism is how the members of the set share from now on.
	Mechanism profile.Mechanism `json:"mechanism"`
	// Speed is the task's predicted speed in its set.
	Speed float64 `json:"speed"`
	// Gain is what the task adds to the weighted throughput: its own weight times
	// pace times speed, less what the others lose.
	Gain float64 `json:"gain"`
}

// class is a group of GPUs that cannot be told apart when they are empty.
type class struct {
	gpu    *packer.GPU // the first
	gpus   int         // how many there are
	usable profile.Bytes
	mechs  []profile.Mechanism
}

// The conditions that callers tell apart with errors.Is.
var (
	// ErrUnknown means that no task of that ID runs or waits.
	ErrUnknown = errors.New("unknown task")
	// ErrDuplicate means that a task of that ID runs or waits already.
	ErrDuplicate = errors.New("duplicate task")
)

// check reports what is wrong with GPUs, a model and limits.
func check(gpus []packer.GPU, model packer.Model, limits packer.Limits) error {
	if err := (&packer.Problem{GPUs: gpus, Model: model, Limits: limits}).Validate(); err != nil {
		return err
	}
	for i := range gpus {
		if slices.Contains(gpus[i].Mechanisms, profile.MIG) {
			return fmt.Errorf("packer: scheduler: GPU %q: a scheduler does not make MIG instances; list those that there are as GPUs of their own", gpus[i].ID)
		}
	}
	return nil
}
