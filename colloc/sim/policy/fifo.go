package policy

import (
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/place"
)

// FIFO gives tasks whole GPUs in the order of arrival: the head of the queue
// waits until there are enough, and everybody behind it too. It is the baseline
// that clusters without sharing run, and the exclusive policy of CARMA's
// evaluation (Yousefzadeh-Asl-Miandoab et al., arXiv:2508.19073).
type FIFO struct {
	// Backfill lets tasks overtake a head that does not fit.
	Backfill bool
}

var _ sim.Policy = FIFO{}

// Name implements [sim.Policy].
func (p FIFO) Name() string {
	if p.Backfill {
		return "fifo-backfill"
	}
	return "fifo"
}

// Begin implements [sim.Policy].
func (p FIFO) Begin(*sim.State) (sim.Scheduler, error) {
	return &fifo{FIFO: p}, nil
}

type fifo struct {
	FIFO
	gang place.Gang
}

// Decide implements [sim.Scheduler].
func (f *fifo) Decide(s *sim.State) error {
	for t := range s.Waiting() {
		if !f.start(s, t) && !f.Backfill {
			return nil
		}
	}
	return nil
}

func (f *fifo) start(s *sim.State, t *sim.TaskView) bool {
	if t.HostOnly {
		return place.Host(s, t)
	}
	gpus := f.gang.Idle(s, t)
	if gpus == nil {
		return false
	}
	s.Start(t, gpus...)
	return true
}
