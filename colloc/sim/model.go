package sim

import (
	"errors"
	"fmt"

	"example.com/colloc/profile"
)

// Model says how fast tasks run. What the simulation obeys is the truth, what a
// policy asks is a prediction; both are Models.
type Model interface {
	// Speeds fills dst[i] with the work that set[i] does per unit of time when
	// exactly the tasks of set share gpu by mech: 1 alone on the reference GPU,
	// at least 0 and at most 1e6. A set of one is asked with Exclusive. It must
	// give the same answer to the same question. The slices belong to the
	// caller and are used again. On a MIG instance (GPU.Slice) models that
	// know nothing of instances multiply by its [GPU.Compute].
	Speeds(gpu *GPU, mech profile.Mechanism, set []*Task, dst []float64) error
}

// Constant is the simplest truth: speeds depend on the number of tasks only.
// Constant[k-1] is the speed of each of k tasks; beyond the end the GPU is
// divided: the last value's sum is shared. The zero value is exact time-slicing,
// 1/k each.
type Constant []float64

var _ Model = Constant(nil)

// Speeds implements [Model].
func (c Constant) Speeds(gpu *GPU, _ profile.Mechanism, set []*Task, dst []float64) error {
	k := len(set)
	speed := 1 / float64(k)
	if n := len(c); n >= k {
		speed = c[k-1]
	} else if n > 0 {
		speed = c[n-1] * float64(n) / float64(k)
	}
	for i := range dst {
		dst[i] = speed * gpu.Compute()
	}
	return nil
}

// MaxSpeed is more than any task's speed.
const MaxSpeed = 1e6

// ErrSpeed says that a model answered with what is no speed.
var ErrSpeed = errors.New("speed is no finite number from 0 to 1e6")

// speeds asks a model and checks its answer.
func speeds(m Model, gpu *GPU, mech profile.Mechanism, set []*Task, dst []float64) error {
	if len(set) == 1 {
		mech = profile.Exclusive
	}
	if err := m.Speeds(gpu, mech, set, dst); err != nil {
		return fmt.Errorf("sim: model: %w", err)
	}
	for i, s := range dst {
		if !(s >= 0 && s <= MaxSpeed) {
			return fmt.Errorf("sim: model: task %q: %v: %w", set[i].ID, s, ErrSpeed)
		}
	}
	return nil
}
