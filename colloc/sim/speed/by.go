package speed

import (
	"errors"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// By is a model under which tasks share by one mechanism, whatever a policy chooses: for
// machines of which somebody knows how their tasks share, or wants to try.
type By struct {
	// Model is asked; required.
	Model sim.Model
	// Mechanism is what it is asked for.
	Mechanism profile.Mechanism
}

var _ sim.Model = By{}

// Speeds implements [sim.Model].
func (b By) Speeds(gpu *sim.GPU, mech profile.Mechanism, set []*sim.Task, dst []float64) error {
	if b.Model == nil {
		return errors.New("By has no Model")
	}
	if len(set) > 1 {
		mech = b.Mechanism
	}
	return b.Model.Speeds(gpu, mech, set, dst)
}
