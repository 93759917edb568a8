package policy

import (
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/place"
)

// Shortest runs the tasks with the least remaining time (SRTF), or the least
// remaining time × GPUs (SRSF), each on GPUs of its own; at every event running
// tasks are preempted for shorter ones. Tasks that do not fit are overtaken.
//
// These are the clairvoyant baselines of Tiresias (Gu et al., NSDI 2019) and
// Muri (Zhao et al., SIGCOMM 2022, doi:10.1145/3544216.3544224). All tasks are
// placed anew at each event, in this order, on the first machine that has room.
type Shortest struct {
	// Service weighs remaining time by GPUs: SRSF.
	Service bool
}

var _ sim.Policy = Shortest{}

// Name implements [sim.Policy].
func (p Shortest) Name() string {
	if p.Service {
		return "srsf"
	}
	return "srtf"
}

// Begin implements [sim.Policy].
func (p Shortest) Begin(*sim.State) (sim.Scheduler, error) {
	return &place.Preemptive{Key: func(s *sim.State, t *sim.TaskView) time.Duration {
		left := s.Remaining(t)
		if p.Service {
			left *= time.Duration(max(1, t.GPUs))
		}
		return left
	}}, nil
}
