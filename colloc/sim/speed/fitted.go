package speed

import (
	"errors"
	"fmt"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// Fitted is colloc's own predictor as a model: speeds in a set by Interference, from the tasks'
// profiles, on a MIG instance times the part of the compute slices that a [pace.MIGSpeed] of
// which nothing was fitted says. [Paced] around it tells products apart. With [Noisy] around it,
// it is a truth that no policy knows exactly.
//
// A Fitted may be used by many runs at once only if nobody calls
// Interference.Observe meanwhile.
type Fitted struct {
	// Interference is required.
	Interference *interference.Predictor
}

var _ sim.Model = Fitted{}

// Speeds implements [sim.Model].
func (f Fitted) Speeds(gpu *sim.GPU, mech profile.Mechanism, set []*sim.Task, dst []float64) error {
	if f.Interference == nil {
		return errors.New("Fitted has no Interference")
	}
	profiles := make([]*profile.Profile, len(set))
	for i, t := range set {
		profiles[i] = t.Profile
	}
	estimates, err := f.Interference.Speeds(&gpu.Model, mech, profiles, nil)
	if err != nil {
		return fmt.Errorf("Fitted: %w", err)
	}
	for i := range estimates {
		dst[i] = estimates[i].Value
	}
	if gpu.Slice == nil {
		return nil
	}
	for i, p := range profiles {
		e, err := new(pace.MIGSpeed).Speed(p, &gpu.Model, *gpu.Slice)
		if err != nil {
			return fmt.Errorf("Fitted: %w", err)
		}
		dst[i] *= e.Value
	}
	return nil
}
