package policy

import (
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/share"
	"example.com/colloc/profile"
)

// CARMA is CARMA's mapper (Yousefzadeh-Asl-Miandoab et al., arXiv:2508.19073 and
// github.com/itu-rad/CARMA e044017). Only the head of the queue is considered. It
// takes idle GPUs for itself if there are enough; otherwise it joins GPUs that
// pass three filters, those with most free memory first (MAGM, the best of the authors'
// orders):
//
//   - the memory that monitoring shows free, less 512 MiB, covers the estimate
//     and 2 GiB; without an estimate, 5 GiB are free;
//   - not both SM activity >= 0.80 and memory bandwidth >= 0.40;
//   - 30 s have passed since a task was put there, so that monitoring shows it.
//
// Tasks that ran out of memory run again on GPUs of their own, first in the
// queue; nothing is collocated before they run. SM occupancy, which the authors
// test too, is not simulated.
type CARMA struct {
	// Blind is the variant that relies on recovery only: no estimates.
	Blind bool
	// Gap is the least time between two decisions; 0 means 1 minute, as in the
	// authors' evaluation; negative is none.
	Gap time.Duration
}

var _ sim.Policy = CARMA{}

// Name implements [sim.Policy].
func (p CARMA) Name() string {
	if p.Blind {
		return "carma-magm-blind"
	}
	return "carma-magm"
}

// CARMA's constants, see its documentation.
const (
	carmaReserved = 512 * profile.MiB
	carmaMargin   = 2 * profile.GiB
	carmaFloor    = 5 * profile.GiB
	carmaGrace    = 30 * time.Second
	carmaSM       = 0.80
	carmaDRAM     = 0.40
)

// Begin implements [sim.Policy].
func (p CARMA) Begin(s *sim.State) (sim.Scheduler, error) {
	if p.Gap == 0 {
		p.Gap = time.Minute
	}
	c := newCARMA(s, p)
	c.pressed = func(g *sim.GPUView) bool { return g.Busy >= carmaSM && g.Bandwidth >= carmaDRAM }
	c.enough = func(t *sim.TaskView, g *sim.GPUView) bool {
		free := g.Total - g.Used
		if p.Blind {
			return free >= carmaFloor
		}
		return free-carmaReserved >= t.Likely+carmaMargin
	}
	c.again = func(s *sim.State) time.Duration { return s.Now() + carmaGrace } // monitoring may show something else then
	return c, nil
}

// newCARMA is a scheduler that lacks its filters.
func newCARMA(s *sim.State, p CARMA) *carma {
	c := &carma{CARMA: p, grace: carmaGrace, last: make([]time.Duration, len(s.GPUs())), next: -1 << 62}
	for i := range c.last {
		c.last[i] = -1 << 62
	}
	c.Frame = share.Frame{Allow: c.admits, Score: mostFree, Blind: true}
	return c
}

type carma struct {
	CARMA
	share.Frame
	// pressed and enough are the filters on use and memory; grace is how long after a start
	// others may join, again when to look anew if nothing fits.
	pressed func(g *sim.GPUView) bool
	enough  func(t *sim.TaskView, g *sim.GPUView) bool
	again   func(s *sim.State) time.Duration
	grace   time.Duration
	last    []time.Duration // by GPU: when a task was put there
	next    time.Duration   // no decision before
}

// Decide implements [sim.Scheduler].
func (c *carma) Decide(s *sim.State) error {
	if s.Now() < c.next {
		s.WakeAt(c.next)
		return nil
	}
	t := c.head(s)
	if t == nil {
		return nil
	}
	if !c.Place(s, t) {
		s.WakeAt(c.again(s))
		return nil
	}
	for _, g := range t.On {
		c.last[g] = s.Now()
	}
	if c.Gap > 0 {
		c.next = s.Now() + c.Gap
		s.WakeAt(c.next)
	}
	return nil
}

// head is the next task: one that died before all others.
func (c *carma) head(s *sim.State) *sim.TaskView {
	for t := range s.Waiting() {
		if t.Deaths > 0 {
			return t
		}
	}
	return s.Next()
}

// admits is the filter.
func (c *carma) admits(s *sim.State, t *sim.TaskView, g *sim.GPUView) bool {
	return s.Now()-c.grace >= c.last[g.Index] && c.enough(t, g) && !c.pressed(g)
}

// mostFree is the order of preference.
func mostFree(_ *sim.State, _ *sim.TaskView, g *sim.GPUView) float64 {
	return float64(g.Total - g.Used)
}
