package speed

import (
	"example.com/colloc/colloc/sim"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// Paced is a model for clusters of several products: Model says how tasks disturb
// each other, and as if all cards were equal; each task is then faster or slower by
// its pace on the card. [Fitted] with a Pace and [Pairs] with a reference need none.
type Paced struct {
	// Model is required.
	Model sim.Model
	// Pace says how cards compare; nil is the prior of package pace. A
	// colloc.Planner's Config has one.
	Pace *pace.Predictor
	// Reference is the card on which paces are 1 and the lengths of tasks hold; the
	// zero value is that of Pace.
	Reference profile.GPUModel
}

var _ sim.Model = Paced{}

// Speeds implements [sim.Model].
func (m Paced) Speeds(gpu *sim.GPU, mech profile.Mechanism, set []*sim.Task, dst []float64) error {
	if err := m.Model.Speeds(gpu, mech, set, dst); err != nil {
		return err
	}
	p := m.Pace
	if p == nil {
		p = &pace.Predictor{}
	}
	var reference *profile.GPUModel
	if m.Reference.Name != "" {
		reference = &m.Reference
	}
	of := p.Compare(&gpu.Model, reference)
	for i, t := range set {
		dst[i] *= of.Value(t.Profile)
	}
	return nil
}
