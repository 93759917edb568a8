package policy

import (
	"strconv"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/ahead"
	"example.com/colloc/colloc/sim/policy/internal/request"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// Colloc is colloc's own policy: package dispatch decides, as behind every door of
// colloc, and looks ahead by predicted lengths, speeds and memory; what is measured of sets
// improves what is predicted. A task reserves what is expected of it (TaskView.Likely),
// and from ObserveAfter on what monitoring shows and 5 % for growth, if that is not more; others of its type
// do so from their start. One that ran out of memory keeps its turn and reserves its predicted bound the
// second time, or runs alone if that is no more, and runs alone the third; alone runs one
// that reserves more than a GPU has after headroom, too. Priorities are classes: those of a higher one
// go first, and others stop for them.
//
// Once a task asks for a share of a GPU, tasks get what they ask for, where it leaves the
// GPUs least fragmented, see [FGD].
type Colloc struct {
	// MaxSet is the largest set, 1 to 4; 0 means 4.
	MaxSet int
	// Objective is 0 for the mean completion time, 1 for the makespan, or between;
	// missing means [online.DefaultObjective].
	Objective profile.Opt[float64]
	// Budget is how many events are simulated for one decision; missing means
	// [online.DefaultBudget], and 0 is no look-ahead.
	Budget profile.Opt[int]
	// Headroom is the fraction of memory left free; missing means 0, as for the peers: what is
	// reserved for each task holds its own margin.
	Headroom profile.Opt[float64]
	// MaxSlowdown is the most that a task may be slowed down, at least 1; 0
	// means no limit.
	MaxSlowdown float64
	// NoLearning ignores what is measured.
	NoLearning bool
	// NoStop lets every task run to its end where it is. Without it tasks stop for much
	// shorter ones or move to where they end sooner, as if that cost a minute.
	NoStop bool
	// NoSeen reserves what is predicted to the end of each task.
	NoSeen bool
	// Without are parts of the look-ahead that are left out.
	Without online.Part
	// Closed lets nobody join a set that began earlier: as where a set is one job of the cluster, which
	// keeps its GPU until the last has ended.
	Closed bool
	// Mind predicts, and Tell says what it is told of a task; nil predicts by the simulation's model, which what is
	// measured improves.
	Mind dispatch.Mind
	Tell func(*sim.TaskView) colloc.Task
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
	if p.NoStop {
		name += "-nostop"
	}
	if p.NoSeen {
		name += "-noseen"
	}
	if p.Closed {
		name += "-closed"
	}
	if p.Without&online.Order != 0 {
		name += "-noorder"
	}
	if p.Without&online.Moves != 0 {
		name += "-nomove"
	}
	if p.Without&online.Detours != 0 {
		name += "-nodetour"
	}
	return name
}

// Begin implements [sim.Policy].
func (p Colloc) Begin(s *sim.State) (sim.Scheduler, error) {
	if p.MaxSet == 0 {
		p.MaxSet = 4
	}
	p.Headroom = profile.Some(p.Headroom.Or(0))
	looks, err := ahead.New(ahead.Config(p), s)
	return &byRequest{Scheduler: looks, counts: map[ask]int{}}, err
}

// byRequest decides as another scheduler until a task asks for a share of a GPU, and from
// then on by FGD: where shares say what a task gets, no company changes its speed, and what
// counts is what those that come can still use. Typical is what has come.
type byRequest struct {
	sim.Scheduler
	fgd    *fgd
	counts map[ask]int
	seen   int
	next   int // how many tasks must have come for the next count
}

// Observe implements [sim.Learner].
func (b *byRequest) Observe(o *sim.CoRun) error {
	if l, ok := b.Scheduler.(sim.Learner); ok {
		return l.Observe(o)
	}
	return nil
}

// Decide implements [sim.Scheduler].
func (b *byRequest) Decide(s *sim.State) error {
	asked := b.fgd != nil
	for _, t := range s.Arrived() {
		b.counts[asksFor(t.HostOnly, t.CPU, t.Share, t.GPUs)]++
		b.seen++
		asked = asked || t.Share > 0
	}
	if !asked {
		return b.Scheduler.Decide(s)
	}
	if b.fgd == nil {
		b.fgd = &fgd{}
		b.fgd.Frame = request.Frame{Kept: true, Score: b.fgd.rate}
		b.fgd.Frame.Begin(s)
	}
	if b.seen >= b.next { // by a tenth
		b.next = b.seen + b.seen/10 + 1
		b.fgd.typical = mostly(b.counts, b.seen)
		b.fgd.Forget()
	}
	return b.fgd.Decide(s)
}
