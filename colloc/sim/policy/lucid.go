package policy

import (
	"cmp"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/share"
)

// Lucid is a policy in the manner of Lucid (Hu et al., ASPLOS 2023,
// doi:10.1145/3575693.3575705), which never preempts. The queue is sorted by
// predicted length × GPUs. Profiling gives each task a sharing score: 0 tiny, 1
// medium, 2 jumbo. When fewer GPUs are idle than tasks wait, a task is packed
// with the first running task of the same number of GPUs that has no partner, if
// memory suffices, the scores add up to at most 2, and its own length × GPUs is at
// most twice the partner's, so that a long task does not hold up a short one for
// long (simulation/policy/lucid.py of github.com/S-Lab-System-Group/Lucid,
// 9b9ba89); otherwise it gets GPUs of its own.
//
// Two stand-ins: the score comes from thresholds on the SM utilisation alone
// instead of the authors' decision tree, and "fewer idle than waiting" stands for
// their prediction of the cluster's load. A task whose utilisation is not known
// (TaskView.Busy is 0) counts as jumbo: on a trace without utilisations
// nothing is packed, and the policy is shortest first.
type Lucid struct {
	// Tiny and Medium are the SM utilisations below which a task counts as such;
	// 0 means 0.4 and 0.8.
	Tiny, Medium float64
	// InOrder is Lucid as the authors of AEGIS ran it on three A100: the order of arrival, in
	// which nobody is passed, idle GPUs first, and no rule on lengths or numbers of GPUs. Each
	// task joins where the scores add up to least. Their classifier calls nearly all that is
	// not tiny jumbo, so Medium is as Tiny unless it is told.
	InOrder bool
}

var _ sim.Policy = Lucid{}

// Name implements [sim.Policy].
func (p Lucid) Name() string {
	if p.InOrder {
		return "lucid-in-order"
	}
	return "lucid"
}

// maxScore is the largest sum of sharing scores that is packed.
const maxScore = 2

// Begin implements [sim.Policy].
func (p Lucid) Begin(*sim.State) (sim.Scheduler, error) {
	if p.Tiny == 0 {
		p.Tiny = 0.4
	}
	switch {
	case p.Medium > 0:
	case p.InOrder:
		p.Medium = p.Tiny
	default:
		p.Medium = 0.8
	}
	l := &lucid{Lucid: p}
	if p.InOrder {
		l.Frame = share.Frame{
			Most:  2,
			Allow: func(_ *sim.State, t *sim.TaskView, g *sim.GPUView) bool { return l.score(g)+l.level(t) <= maxScore },
			Score: func(_ *sim.State, _ *sim.TaskView, g *sim.GPUView) float64 { return -float64(l.score(g)) },
		}
		return l, nil
	}
	l.Frame = share.Frame{
		Overtake: true,
		Most:     2,
		Order:    shorter,
		Alone:    func(*sim.State, *sim.TaskView) bool { return l.roomy },
		Allow: func(_ *sim.State, t *sim.TaskView, g *sim.GPUView) bool {
			return len(g.Set) == 0 || g.Set[0].GPUs == t.GPUs && l.level(t)+l.level(g.Set[0]) <= maxScore && outlasts(g.Set[0], t)
		},
		Score: func(_ *sim.State, _ *sim.TaskView, g *sim.GPUView) float64 {
			return float64(min(1, len(g.Set))) // the first feasible partner, then an idle GPU
		},
	}
	return l, nil
}

// shorter compares tasks by predicted length × GPUs.
func shorter(_ *sim.State, a, b *sim.TaskView) int {
	return cmp.Compare(float64(a.Length)*float64(max(1, a.GPUs)), float64(b.Length)*float64(max(1, b.GPUs)))
}

type lucid struct {
	Lucid
	share.Frame
	roomy bool // as many GPUs are idle as tasks wait
}

// Decide implements [sim.Scheduler].
func (l *lucid) Decide(s *sim.State) error {
	waiting, _ := s.Len()
	for range s.Idle() {
		waiting--
	}
	l.roomy = waiting <= 0
	return l.Frame.Decide(s)
}

// maxLonger is how many times longer than its partner a task may be.
const maxLonger = 2

// outlasts reports whether a partner is long enough for t, by their lengths as
// predicted when they came.
func outlasts(partner, t *sim.TaskView) bool {
	return float64(t.Length) <= maxLonger*float64(partner.Length)
}

// score is the sum of the sharing scores on a GPU.
func (l *lucid) score(g *sim.GPUView) int {
	sum := 0
	for _, t := range g.Set {
		sum += l.level(t)
	}
	return sum
}

// level is the sharing score.
func (l *lucid) level(t *sim.TaskView) int {
	switch b := busy(t); {
	case b < l.Tiny:
		return 0
	case b < l.Medium:
		return 1
	}
	return 2
}
