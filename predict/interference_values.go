package predict

import (
	"fmt"

	"example.com/colloc/profile"
)

// Values is [Interference.Speeds] without intervals and sources: it appends the
// same values to dst. It is for decisions that compare many sets.
func (m *Interference) Values(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, dst []float64) ([]float64, error) {
	if len(set) > 1 || mech == profile.MIG {
		if err := checkSharing(mech); err != nil {
			return dst, err
		}
	}
	if len(set) < 2 {
		for range set {
			dst = append(dst, 1)
		}
		return dst, nil
	}
	r, _ := m.load().regime(gpuName(gpu), mech)
	w := gather(r, set)
	defer scratchPool.Put(w)
	for i := range w.set {
		dst = append(dst, min(1, max(leastSpeed, speedOf(r.loss(w.set, i, false)))))
	}
	return dst, nil
}

// ValuesAndSpeed is [Interference.Values] with the estimate, as by
// [Interference.Speeds], of task i alone. It returns an error also where the set
// has no such task.
func (m *Interference) ValuesAndSpeed(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, i int, dst []float64) ([]float64, Estimate, error) {
	if i < 0 || i >= len(set) {
		return dst, Estimate{}, fmt.Errorf("predict: interference: task %d of %d: %w", i, len(set), errIndex)
	}
	if len(set) > 1 || mech == profile.MIG {
		if err := checkSharing(mech); err != nil {
			return dst, Estimate{}, err
		}
	}
	s := m.load()
	if len(set) < 2 {
		return append(dst, 1), s.alone(), nil
	}
	r, known := s.regime(gpuName(gpu), mech)
	w := gather(r, set)
	defer scratchPool.Put(w)
	var own Estimate
	for j := range w.set {
		if j == i {
			own = s.estimate(r, known, w, i, false)
			dst = append(dst, own.Value)
			continue
		}
		dst = append(dst, min(1, max(leastSpeed, speedOf(r.loss(w.set, j, false)))))
	}
	return dst, own, nil
}
