package policy

import (
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// AEGIS is the later work of CARMA's authors (github.com/ehsanyousefzadehasl/AEGIS, as it
// stood in 2026). As [CARMA] it looks at the head of the queue only, takes idle GPUs if there
// are enough, and otherwise those with the most free memory that pass its filters:
//
//   - the memory that monitoring shows free, less 1 % of the card and at least 512 MiB,
//     covers what is expected of the task and 512 MiB; without an estimate, 5 GiB are free;
//   - not SM activity >= 0.65 together with occupancy >= 0.35 or memory bandwidth >= 0.50;
//   - the task that came last has been on the GPU for 30 s.
//
// It looks again every second or two, where CARMA waits a minute. A task that ran out of
// memory runs next, on GPUs that are idle.
type AEGIS struct {
	// Blind goes by free memory alone: no estimates.
	Blind bool
	// Settle is the time from the start of a task until monitoring has seen it for long enough,
	// and others may join: 30 s after it is first active. 0 means 45 s.
	Settle time.Duration
}

var _ sim.Policy = AEGIS{}

// Name implements [sim.Policy].
func (p AEGIS) Name() string {
	if p.Blind {
		return "aegis-blind"
	}
	return "aegis"
}

// aegisSettle is the middle of 30 to 45 s of the authors' trials, after the first seconds of a
// training, in which it does not use the GPU.
const aegisSettle = 45 * time.Second

// Begin implements [sim.Policy].
func (p AEGIS) Begin(s *sim.State) (sim.Scheduler, error) {
	if p.Settle == 0 {
		p.Settle = aegisSettle
	}
	c := newCARMA(s, CARMA{Blind: p.Blind, Gap: 2 * time.Second})
	c.grace, c.again = p.Settle, c.settled
	c.pressed = func(g *sim.GPUView) bool { return g.Busy >= 0.65 && (g.Occupancy >= 0.35 || g.Bandwidth >= 0.50) }
	c.enough = func(t *sim.TaskView, g *sim.GPUView) bool {
		free := g.Total - g.Used - max(512*profile.MiB, g.Total/100)
		if p.Blind {
			return free >= carmaFloor
		}
		return free >= t.Likely+512*profile.MiB
	}
	return c, nil
}

// settled is when the next GPU has been watched for long enough.
func (c *carma) settled(s *sim.State) time.Duration {
	at := time.Duration(1<<63 - 1)
	for _, last := range c.last {
		if soon := last + c.grace; soon > s.Now() {
			at = min(at, soon)
		}
	}
	return at
}
