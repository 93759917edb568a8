package policy

import (
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/share"
	"example.com/colloc/profile"
)

// Horus is a policy in the manner of Horus (Yeung et al., TPDS 2022,
// doi:10.1109/TPDS.2021.3079202): in the order of arrival each task goes to the
// GPU of least cost, that of the predicted utilisation with the task, if memory
// as predicted suffices and the tasks' predicted utilisations sum to 1 at most. The exact cost
// of the paper was not available.
type Horus struct{}

var _ sim.Policy = Horus{}

// Name implements [sim.Policy].
func (Horus) Name() string { return "horus" }

// Begin implements [sim.Policy].
func (Horus) Begin(*sim.State) (sim.Scheduler, error) {
	return &share.Frame{
		Allow: func(_ *sim.State, t *sim.TaskView, g *sim.GPUView) bool {
			return len(g.Set) == 0 || utilisation(g)+used(t) <= 1
		},
		Score: func(_ *sim.State, _ *sim.TaskView, g *sim.GPUView) float64 { return -utilisation(g) },
	}, nil
}

// used is the GPU utilisation that Horus goes by: the share of time in which a kernel ran, where
// a profile has it, else the SMs.
func used(t *sim.TaskView) float64 {
	if t.Profile == nil {
		return busy(t)
	}
	return t.Profile.Vector.Or(profile.MeanGPUBusy, busy(t))
}

// busy is a task's predicted SM utilisation: all of them if nothing is known.
func busy(t *sim.TaskView) float64 {
	if t.Busy == 0 {
		return 1
	}
	return t.Busy
}

// utilisation is the sum of those of a GPU's tasks.
func utilisation(g *sim.GPUView) float64 {
	sum := 0.0
	for _, t := range g.Set {
		sum += used(t)
	}
	return sum
}
