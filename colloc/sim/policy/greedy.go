package policy

import (
	"strconv"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/place"
	"example.com/colloc/colloc/sim/policy/internal/share"
)

// Greedy gives each task in the order of arrival the GPU where it adds most to
// the predicted throughput, an idle one or one that runs others, if it adds
// anything. It predicts pairs but looks at one task at a time.
type Greedy struct {
	// MaxSet is the largest set; 0 means 2.
	MaxSet int
	// MinGain is the throughput that a task must add to a set; 0 means 0.05.
	MinGain float64
}

var _ sim.Policy = Greedy{}

// minGain is what a task must add to a set at least.
const minGain = 0.05

// Name implements [sim.Policy].
func (p Greedy) Name() string {
	if p.MaxSet > 2 {
		return "greedy-" + strconv.Itoa(p.MaxSet)
	}
	return "greedy"
}

// Begin implements [sim.Policy].
func (p Greedy) Begin(*sim.State) (sim.Scheduler, error) {
	gain := &gains{least: p.MinGain}
	if gain.least == 0 {
		gain.least = minGain
	}
	return &share.Frame{
		Allow: func(s *sim.State, t *sim.TaskView, g *sim.GPUView) bool { return gain.of(s, t, g) >= gain.least },
		Score: gain.of,
		Alone: func(*sim.State, *sim.TaskView) bool { return false },
		Most:  place.MaxSet(p.MaxSet),
	}, nil
}

// gains predicts what a task adds to a set: the sum of speeds with it less that
// without, each in units of the speed alone on that GPU.
type gains struct {
	least  float64
	set    []*sim.TaskView
	speeds []float64
}

func (x *gains) of(s *sim.State, t *sim.TaskView, g *sim.GPUView) float64 {
	x.set = append(append(x.set[:0], g.Set...), t)
	with, err := x.sum(s, g)
	if err != nil {
		return -1
	}
	if len(g.Set) == 0 {
		return with
	}
	x.set = x.set[:len(g.Set)]
	without, err := x.sum(s, g)
	if err != nil {
		return -1
	}
	return with - without
}

// sum is the predicted throughput of x.set on g.
func (x *gains) sum(s *sim.State, g *sim.GPUView) (float64, error) {
	for len(x.speeds) < len(x.set) {
		x.speeds = append(x.speeds, 0)
	}
	dst := x.speeds[:len(x.set)]
	if err := s.Speeds(g, g.Mechanism, x.set, dst); err != nil {
		return 0, err
	}
	total := 0.0
	for _, v := range dst {
		total += v
	}
	return total, nil
}
