package policy

import (
	"strconv"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/learn"
	"example.com/colloc/colloc/sim/policy/internal/place"
	"example.com/colloc/colloc/sim/policy/internal/share"
)

// Greedy gives each task in the order of arrival the GPU where it adds most to
// the predicted throughput, an idle one or one that runs others, if it adds
// anything. It predicts sets but looks at one task at a time, and neither ahead nor back.
type Greedy struct {
	// Overtake lets tasks pass others that do not fit (gfill), Shortest sorts them by predicted
	// length × GPUs besides (gsjf).
	Overtake, Shortest bool
	// MaxSet is the largest set; 0 means 2.
	MaxSet int
	// NoLearning ignores what is measured of sets; without it measurements improve
	// what is predicted, in the same way as for [Colloc].
	NoLearning bool
}

var _ sim.Policy = Greedy{}

// minGain is the throughput that a task must add to a set at least.
const minGain = 0.05

// Name implements [sim.Policy].
func (p Greedy) Name() string {
	name := "greedy"
	switch {
	case p.Shortest:
		name = "gsjf"
	case p.Overtake:
		name = "gfill"
	}
	if p.MaxSet > 2 {
		name += "-" + strconv.Itoa(p.MaxSet)
	}
	return name
}

// Begin implements [sim.Policy].
func (p Greedy) Begin(*sim.State) (sim.Scheduler, error) {
	gain := &gains{known: learn.New()}
	frame := share.Frame{
		Allow: func(s *sim.State, t *sim.TaskView, g *sim.GPUView) bool {
			return gain.of(s, t, g) >= minGain
		},
		Score: gain.of,
		Alone: func(*sim.State, *sim.TaskView) bool { return false },
		Most:  place.MaxSet(p.MaxSet),

		Overtake: p.Overtake || p.Shortest,
	}
	if p.Shortest {
		frame.Order = shorter
	}
	if p.NoLearning {
		return &frame, nil
	}
	return &greedy{frame, gain}, nil
}

// greedy learns.
type greedy struct {
	share.Frame
	gain *gains
}

// Decide implements [sim.Scheduler].
func (g *greedy) Decide(s *sim.State) error {
	g.gain.known.LearnNow()
	g.gain.state = s
	return g.Frame.Decide(s)
}

// Observe implements [sim.Learner].
func (g *greedy) Observe(o *sim.CoRun) error {
	if g.gain.state == nil {
		return nil
	}
	return g.gain.known.Observe(g.gain.state, o)
}

// gains predicts what a task adds to a set: the sum of speeds with it less that
// without, each in units of the speed alone on that GPU.
type gains struct {
	known  *learn.Known
	state  *sim.State
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
	if err := x.known.Speeds(s, g, g.Mechanism, x.set, dst); err != nil {
		return 0, err
	}
	total := 0.0
	for _, v := range dst {
		total += v
	}
	return total, nil
}
