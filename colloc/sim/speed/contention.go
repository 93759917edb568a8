package speed

import (
	"fmt"
	"math"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Contention is an assumption, for traces whose tasks nobody ever measured
// together: tasks are light, medium or heavy (Task.Class) and slow each other down
// by amounts that add up,
//
//	speed(i) = 1 / (1 + Scale · Σ_j sqrt(p(i) · p(j))),  j ≠ i
//
// with pressures p of 0.10, 0.35 and 0.60. Scale 1 is the central assumption of
// the reproduction of CARMA, 0.5 the optimistic one, 2 the pessimistic one.
type Contention struct {
	// Scale multiplies all slowdowns; 0 means 1.
	Scale float64
}

var _ sim.Model = Contention{}

// Speeds implements [sim.Model].
func (c Contention) Speeds(gpu *sim.GPU, _ profile.Mechanism, set []*sim.Task, dst []float64) error {
	scale := c.Scale
	if scale == 0 {
		scale = 1
	}
	for i, t := range set {
		p, err := pressure(t)
		if err != nil {
			return err
		}
		slow := 1.0
		for j, other := range set {
			if j == i {
				continue
			}
			q, err := pressure(other)
			if err != nil {
				return err
			}
			slow += float64(scale * math.Sqrt(p*q))
		}
		dst[i] = gpu.Compute() / slow
	}
	return nil
}

func pressure(t *sim.Task) (float64, error) {
	switch t.Class {
	case "light":
		return 0.10, nil
	case "medium":
		return 0.35, nil
	case "heavy":
		return 0.60, nil
	}
	return 0, fmt.Errorf("Contention: task %q is of class %q, want light, medium or heavy", t.ID, t.Class)
}
