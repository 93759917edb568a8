package colloc

import (
	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// model answers the packer's questions with the interference predictor as it
// was when the round began: what is observed meanwhile counts from the next
// round on.
type model struct {
	planner      *Planner
	interference *interference.Predictor
	uses         uses
}

var _ packer.AdditiveModel = model{}

// Speeds implements [packer.Model]. It is safe for concurrent use.
func (m model) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	s := m.planner.acquire()
	defer m.planner.release(s)
	for _, t := range set {
		s.set = append(s.set, m.uses.of(t.Profile, gpu.Type))
	}
	speeds, err := m.interference.Values(gpu.Type, mech, s.set, s.speeds[:0])
	s.speeds = speeds
	copy(dst, speeds)
	return err
}

// Monotone implements [packer.MonotoneModel]: company only hurts, see
// [interference.Predictor], and what a task is predicted with does not depend on
// its company.
func (model) Monotone(_ *packer.GPU, mech profile.Mechanism) bool {
	return mech == profile.TimeSlice || mech == profile.MPS
}

// Additive implements [packer.AdditiveModel]: see [interference.Predictor.OwnCost].
func (m model) Additive(task *packer.Task, gpu *packer.GPU, mech profile.Mechanism) (once, least float64, ok bool) {
	const rounding = 1e-9
	once = m.interference.OwnCost(gpu.Type, mech, m.uses.of(task.Profile, gpu.Type))
	return once + rounding, predict.LeastSpeed, m.Monotone(gpu, mech)
}
