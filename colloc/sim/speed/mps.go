package speed

import (
	"errors"
	"fmt"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// MPS is a model of time-slicing made into one of MPS, under which kernels of
// several tasks run at the same time: of each slowdown a part is left,
//
//	speed(i) = alone(i) / (1 + Left · (alone(i)/sliced(i) - 1)).
//
// Which part is an assumption that somebody has to make: it differs with the tasks,
// and below 1 says that MPS is better. Models that know mechanisms, as [Fitted], need
// none of this.
type MPS struct {
	// Model says how fast tasks are by time-slicing; required.
	Model sim.Model
	// Left is the part of the slowdowns that is left, more than 0.
	Left float64
	// Always takes every set to share by MPS; without it only those that are asked
	// with profile.MPS do.
	Always bool
}

var _ sim.Model = MPS{}

// Speeds implements [sim.Model].
func (m MPS) Speeds(gpu *sim.GPU, mech profile.Mechanism, set []*sim.Task, dst []float64) error {
	if m.Model == nil || !(m.Left > 0) {
		return errors.New("MPS needs a Model and a Left of more than 0")
	}
	if len(set) == 1 || !m.Always && mech != profile.MPS {
		return m.Model.Speeds(gpu, mech, set, dst)
	}
	if err := m.Model.Speeds(gpu, profile.TimeSlice, set, dst); err != nil {
		return err
	}
	var alone [1]float64
	for i := range set {
		if err := m.Model.Speeds(gpu, profile.Exclusive, set[i:i+1], alone[:]); err != nil {
			return fmt.Errorf("MPS: %w", err)
		}
		if slow := alone[0]/dst[i] - 1; dst[i] > 0 && slow > 0 {
			dst[i] = alone[0] / (1 + float64(m.Left*slow))
		}
	}
	return nil
}
