package colloc

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// Task is one program that wants a GPU.
type Task struct {
	// ID names the task; unique within one call, not empty.
	ID string
	// Profile is what is known of it, see [profile.New]. Required. It must not
	// be modified while the Planner uses it.
	Profile *profile.Profile
	// Reserved is the memory set aside for the task; 0 lets the Planner
	// predict it. For residents it is what they were promised when placed.
	// [memory.Whole] asks for a whole GPU, whatever it holds.
	Reserved profile.Bytes
	// Weight is how much the task's speed counts, at most 1e9; 0 means 1. Only
	// ratios matter.
	Weight float64
	// MaxSlowdown is solo speed over collocated speed that the task bears, at
	// least 1; 0 means [Config].MaxSlowdown.
	MaxSlowdown float64
	// Alone forbids sharing.
	Alone bool
}

// GPU is one card and what runs there.
type GPU struct {
	// ID names the card, for example its UUID; unique within one call.
	ID string
	// Model is the product, see [profile.LookupGPU].
	Model profile.GPUModel
	// Memory is the card's total as NVML reports it; 0 means Model.Memory.
	Memory profile.Bytes
	// Mechanisms are the allowed ways to share: time-slicing and MPS. nil means
	// time-slicing, which needs no set-up; a list that holds only Exclusive
	// forbids sharing. A MIG instance is a GPU of its own: describe each with
	// its own ID and Memory.
	Mechanisms []profile.Mechanism
	// Residents are the tasks that run there and stay.
	Residents []Task
}

const maxWeight = 1e9 // as packer

// Validate reports every fault of the task, by field. It does not allocate for a
// valid one.
func (t *Task) Validate() error {
	if t.ID != "" && t.Profile != nil && t.Reserved >= 0 && t.Weight >= 0 && t.Weight <= maxWeight &&
		(t.MaxSlowdown == 0 || finite(t.MaxSlowdown, 1)) {
		return nil
	}
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, want %s", field, value, want))
		}
	}
	check(t.ID != "", "ID", "empty", "a name")
	check(t.Profile != nil, "Profile", "nil", "what profile.New returns")
	check(t.Reserved >= 0, "Reserved", int64(t.Reserved), "0 bytes or more")
	check(t.Weight >= 0 && t.Weight <= maxWeight, "Weight", t.Weight, fmt.Sprintf("0 to %g", float64(maxWeight)))
	check(t.MaxSlowdown == 0 || finite(t.MaxSlowdown, 1), "MaxSlowdown", t.MaxSlowdown, "0 for the default or at least 1")
	return fmt.Errorf("colloc: task %q: %w", t.ID, errors.Join(errs...))
}

// Validate reports the first fault of the GPU and of its residents.
func (g *GPU) Validate() error {
	if g.ID == "" {
		return errors.New("colloc: GPU without an ID")
	}
	if g.Memory < 0 {
		return fmt.Errorf("colloc: GPU %q: Memory is %d bytes, want 0 or more", g.ID, int64(g.Memory))
	}
	if g.Total() == 0 {
		return fmt.Errorf("colloc: GPU %q: no memory known; set Memory, or Model from profile.LookupGPU", g.ID)
	}
	for _, m := range g.Mechanisms {
		if m != profile.Exclusive && m != profile.TimeSlice && m != profile.MPS {
			return fmt.Errorf("colloc: GPU %q: Mechanisms lists %v, want time-slicing or mps; a MIG instance is a GPU of its own", g.ID, m)
		}
	}
	for i := range g.Residents {
		if err := g.Residents[i].Validate(); err != nil {
			return fmt.Errorf("colloc: GPU %q: resident %d: %w", g.ID, i, err)
		}
	}
	return nil
}

// Total is the GPU's memory: Memory, or else that of the Model.
func (g *GPU) Total() profile.Bytes {
	if g.Memory > 0 {
		return g.Memory
	}
	return g.Model.Memory
}

// minSpeed is the speed below which the task must not fall.
func (p *Planner) minSpeed(t *Task) float64 {
	if t.MaxSlowdown > 0 {
		return 1 / t.MaxSlowdown
	}
	return 1 / p.config.MaxSlowdown
}

// finite reports whether x is a finite number of at least lo.
func finite(x, lo float64) bool {
	return x >= lo && !math.IsInf(x, 1)
}

// packed converts a task for the packer; its reservation is decided before.
func (p *Planner) packed(t *Task, reserved profile.Bytes) packer.Task {
	whole := reserved == memory.Whole
	if whole {
		reserved = least(t)
	}
	return packer.Task{
		ID: t.ID, Profile: t.Profile, Memory: reserved,
		Weight: t.Weight, MinSpeed: p.minSpeed(t), Alone: t.Alone || whole,
	}
}

func weight(t *Task) float64 {
	if t.Weight == 0 {
		return 1
	}
	return t.Weight
}

//nolint:gochecknoglobals // read-only default
var timeSlicing = []profile.Mechanism{profile.TimeSlice}

// sharing lists the mechanisms of a GPU; Exclusive may be among them.
func sharing(g *GPU) []profile.Mechanism {
	if len(g.Mechanisms) == 0 {
		return timeSlicing
	}
	return g.Mechanisms
}

// shareable reports whether several tasks may run on the GPU at all.
func shareable(g *GPU) bool {
	return slices.ContainsFunc(sharing(g), func(m profile.Mechanism) bool { return m != profile.Exclusive })
}
