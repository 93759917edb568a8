package speed

import (
	"errors"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/internal/draw"
	"example.com/colloc/profile"
)

// Noisy is a prediction: another model's speeds, each multiplied by
//
//	exp(SD · z),  z standard normal, |z| <= 4
//
// with one z for each question about tasks of these types in these roles: asking
// twice gives the same answer. A task alone is predicted exactly.
type Noisy struct {
	Model sim.Model
	// SD is the standard deviation of the logarithm; 0 is no error.
	SD float64
	// Seed chooses the errors.
	Seed uint64
}

var _ sim.Model = Noisy{}

// Speeds implements [sim.Model].
func (n Noisy) Speeds(gpu *sim.GPU, mech profile.Mechanism, set []*sim.Task, dst []float64) error {
	if n.Model == nil {
		return errors.New("Noisy has no Model")
	}
	if err := n.Model.Speeds(gpu, mech, set, dst); err != nil || len(set) == 1 {
		return err
	}
	for i := range dst {
		h := draw.Hash(n.Seed, gpu.Model.Name, set[i].Type)
		for j, t := range set { // in any order
			if j != i {
				h += draw.Hash(n.Seed+1, t.Type)
			}
		}
		dst[i] *= draw.Lognormal(h, n.SD)
	}
	return nil
}
