package speed

import (
	"errors"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Guess is what a scheduler believes that has measured tasks alone and none together:
// alone they run as Model says, and each neighbour slows a task down alike,
//
//	speed(i) = alone(i) / (1 + Slowdown · (k - 1)),  k tasks in the set.
//
// Policies that learn from what is measured of sets do better from there.
type Guess struct {
	// Model knows the speeds alone; required.
	Model sim.Model
	// Slowdown is what each neighbour costs, 0 or more. Below 1, sharing is tried at all.
	Slowdown float64
}

var _ sim.Model = Guess{}

// Speeds implements [sim.Model].
func (g Guess) Speeds(gpu *sim.GPU, _ profile.Mechanism, set []*sim.Task, dst []float64) error {
	if g.Model == nil || !(g.Slowdown >= 0) {
		return errors.New("Guess needs a Model and a Slowdown of 0 or more")
	}
	for i := range set {
		if err := g.Model.Speeds(gpu, profile.Exclusive, set[i:i+1], dst[i:i+1]); err != nil {
			return err
		}
		dst[i] /= 1 + float64(g.Slowdown*float64(len(set)-1))
	}
	return nil
}
