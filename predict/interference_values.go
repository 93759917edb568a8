package predict

import (
	"fmt"
	"slices"

	"example.com/colloc/profile"
)

// Values is [Interference.Speeds] without intervals and sources: it appends the
// same values to dst. It is for decisions that compare many sets.
func (m *Interference) Values(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, dst []float64) ([]float64, error) {
	dst, _, err := m.values(gpu, mech, set, noTask, dst)
	return dst, err
}

// ValuesAndSpeed is [Interference.Values] with the estimate, as by
// [Interference.Speeds], of task i alone. It returns an error also where the set
// has no such task.
func (m *Interference) ValuesAndSpeed(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, i int, dst []float64) ([]float64, Estimate, error) {
	if i < 0 || i >= len(set) {
		return dst, Estimate{}, fmt.Errorf("predict: interference: task %d of %d: %w", i, len(set), errIndex)
	}
	return m.values(gpu, mech, set, i, dst)
}

const noTask = -1

// values appends the values of the whole set; own is the task whose estimate is
// wanted, or noTask.
func (m *Interference) values(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, own int, dst []float64) ([]float64, Estimate, error) {
	if len(set) > 1 || mech == profile.MIG {
		if err := checkSharing(mech); err != nil {
			return dst, Estimate{}, err
		}
	}
	s := m.load()
	if len(set) < 2 {
		for range set {
			dst = append(dst, 1)
		}
		return dst, s.alone(), nil
	}
	r, known := s.regime(gpuName(gpu), mech)
	w := gather(r, set)
	defer scratchPool.Put(w)
	w.arrange()
	var e Estimate
	first := len(dst)
	dst = slices.Grow(dst, len(set))[:first+len(set)]
	for i, place := range w.place {
		if place == own {
			e = s.estimate(r, known, w, i, false)
			dst[first+place] = e.Value
			continue
		}
		dst[first+place] = min(1, max(LeastSpeed, speedOf(r.loss(w.set, i, false))))
	}
	return dst, e, nil
}
