package policy

import (
	"strconv"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/ahead"
	"example.com/colloc/profile"
)

// Colloc is colloc's own policy, which looks ahead: an [online.Scheduler] decides, by
// predicted lengths, speeds and memory, and what is measured of sets improves what is
// predicted, as for [Session]. A task that ran out of memory runs alone from then on,
// and so does one that reserves more than a GPU has after headroom.
type Colloc struct {
	// MaxSet is the largest set, 1 to 4; 0 means 4.
	MaxSet int
	// Objective is 0 for the mean completion time, 1 for the makespan, or between;
	// missing means [online.DefaultObjective].
	Objective profile.Opt[float64]
	// Budget is how many events are simulated for one decision; missing means
	// [online.DefaultBudget], and 0 is no look-ahead.
	Budget profile.Opt[int]
	// Headroom is the fraction of memory left free; missing means 0.02: what is
	// reserved for each task holds its own margin already.
	Headroom profile.Opt[float64]
	// MaxSlowdown is the most that a task may be slowed down, at least 1; 0
	// means no limit.
	MaxSlowdown float64
	// NoLearning ignores what is measured.
	NoLearning bool
}

var _ sim.Policy = Colloc{}

// Name implements [sim.Policy].
func (p Colloc) Name() string {
	name := "colloc"
	if p.MaxSet > 0 {
		name += "-" + strconv.Itoa(p.MaxSet)
	}
	if x, ok := p.Objective.Get(); ok {
		switch x {
		case 0:
			name += "-jct"
		case 1:
			name += "-makespan"
		default:
			name += "-" + strconv.FormatFloat(x, 'g', -1, 64)
		}
	}
	if p.Budget.Or(1) == 0 {
		name += "-greedy"
	}
	if p.NoLearning {
		name += "-fixed"
	}
	return name
}

// Begin implements [sim.Policy].
func (p Colloc) Begin(s *sim.State) (sim.Scheduler, error) {
	if p.MaxSet == 0 {
		p.MaxSet = 4
	}
	p.Headroom = profile.Some(p.Headroom.Or(0.02))
	return ahead.New(ahead.Config(p), s)
}
