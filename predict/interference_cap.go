package predict

import (
	"fmt"
	"slices"

	"example.com/colloc/profile"
)

// Capped is [Interference.Speeds] under MPS with active-thread percentages: caps
// holds, per task, the share of the SMs that it may use, in (0, 1]; nil caps
// nobody. A cap is no reservation: what one task may not use is there for the
// others, but not theirs alone.
//
// No public measurement has capped tasks with a solo reference, so that a cap
// enters by a physical prior, and the source of a set with one is Prior. With s
// the share of time in which a task alone keeps the SMs busy and c its cap,
//
//	t = (1 − s) + s/c        time per step, alone: kernels that would fill the GPU take 1/c as long
//	s/t, d/t                 what it asks of SMs and memory then, as a neighbour
//	speed = speed beside the capped neighbours / t
//
// A kernel that needs no more than c loses nothing, so that Hi is the speed
// without the task's own cap. A cap of 1 changes nothing; a lower cap never raises
// the speed of its task nor lowers that of another.
//
// It returns an error for caps of another length than set and for a cap outside
// (0, 1]. O(k² · (terms + trees)).
func (m *Interference) Capped(gpu *profile.GPUModel, set []*profile.Profile, caps []float64, dst []Estimate) ([]Estimate, error) {
	if caps == nil {
		return m.Speeds(gpu, profile.MPS, set, dst)
	}
	if len(caps) != len(set) {
		return dst, fmt.Errorf("predict: interference: %d caps for %d tasks, want as many", len(caps), len(set))
	}
	anyCap := false
	for i, c := range caps {
		if !(c > 0 && c <= 1) {
			return dst, fmt.Errorf("predict: interference: cap of task %d is %v, want more than 0 and at most 1", i, c)
		}
		anyCap = anyCap || c < 1
	}
	if !anyCap {
		return m.Speeds(gpu, profile.MPS, set, dst)
	}
	s := m.load()
	r, known := s.regime(gpuName(gpu), profile.MPS)
	w := gather(r, set)
	defer scratchPool.Put(w)
	free := append([]member(nil), w.set...) // in the order of the set
	for i := range w.set {
		t := free[i].stretch(caps[i])
		w.set[i].sm, w.set[i].dram = free[i].sm/t, free[i].dram/t
		w.set[i].remember()
	}
	w.arrange()
	first := len(dst)
	dst = slices.Grow(dst, len(set))[:first+len(set)]
	for i, place := range w.place {
		capped := w.set[i]
		w.set[i] = free[place]
		e := s.alone()
		if len(set) > 1 {
			e = s.estimate(r, known, w, i, false)
		}
		w.set[i] = capped
		t := free[place].stretch(caps[place])
		e.Value, e.Lo = max(LeastSpeed, e.Value/t), max(LeastSpeed, e.Lo/t)
		e.Source = Source{Kind: Prior}
		dst[first+place] = e
	}
	return dst, nil
}

// stretch is how much longer a step takes under a cap, alone.
func (l *load) stretch(limit float64) float64 { return 1 - l.sm + l.sm/limit }
