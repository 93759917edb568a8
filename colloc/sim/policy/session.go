package policy

import (
	"strconv"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/session"
	"example.com/colloc/profile"
)

// Session is what colloc did before it looked ahead: an [online.Session] decides where each
// task adds most to the throughput, within memory after headroom and speed limits;
// bursts are planned together; and what is measured of sets improves what is
// predicted, see learned in this package. Whenever twice as much was measured as
// the last time, or GPUs come or go, a new online.Session takes over.
//
// A gang takes one seat after the other, each on another GPU of one machine, and
// starts when it has all; one gang at a time does so on each machine. One that is
// larger than every machine takes seats anywhere, while no other gang does. A task
// that ran out of memory runs alone from then on, and so does one that reserves
// more than a GPU has after headroom. It starts when a GPU is empty: no GPU is
// drained for it, so that under constant load it may wait long.
type Session struct {
	// MaxSet is the largest set; 0 means 2.
	MaxSet int
	// Threshold is the least that a task must add to a GPU that runs others, see
	// [online.SessionOptions]; missing means [online.DefaultThreshold].
	Threshold profile.Opt[float64]
	// Headroom is the fraction of memory left free; missing means 0.10.
	Headroom profile.Opt[float64]
	// MaxSlowdown is the most that a task may be slowed down, at least 1; 0
	// means no limit.
	MaxSlowdown float64
	// ByLength lets tasks wait in the order of their predicted lengths, short ones
	// first; without it the queue is in the order of arrival.
	ByLength bool
	// NoLearning ignores what is measured.
	NoLearning bool
}

var _ sim.Policy = Session{}

// Name implements [sim.Policy].
func (p Session) Name() string {
	name := "colloc-session"
	if p.MaxSet > 2 {
		name += "-" + strconv.Itoa(p.MaxSet)
	}
	if p.ByLength {
		name += "-short"
	}
	if p.NoLearning {
		name += "-fixed"
	}
	return name
}

// Begin implements [sim.Policy].
func (p Session) Begin(s *sim.State) (sim.Scheduler, error) {
	return session.New(session.Config(p), s)
}
