package policy

import (
	"slices"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// All lists the policies of this package that need no data of their own, in the
// order in which reports show them: of ours the one that stops nothing comes first, as stopping
// asks of a cluster what few have. FGD without typical tasks is not among them.
func All() []sim.Policy {
	return []sim.Policy{
		FIFO{},
		FIFO{Backfill: true},
		Shortest{},
		Shortest{Service: true},
		LAS{},
		Random{},
		Greedy{},
		Greedy{MaxSet: 4},
		Greedy{MaxSet: 4, Overtake: true},
		Greedy{MaxSet: 4, Shortest: true},
		Horus{},
		Lucid{},
		CARMA{},
		CARMA{Blind: true},
		AEGIS{},
		AEGIS{Blind: true},
		Gavel{},
		Gavel{Objective: Makespan},
		Gavel{Objective: ShortestFirst},
		Gavel{Objective: LeastAttained},
		Muri{},
		Muri{Unaware: true},
		BestFit{},
		RandomNode{},
		Colloc{NoStop: true},
		Colloc{},
		Colloc{Objective: profile.Some(0.0)},
		Colloc{Objective: profile.Some(1.0)},
		Colloc{Budget: profile.Some(0)},
	}
}

// Ablation lists Colloc and what it is without one of its parts each: to see what each is
// worth. Without sets of more than two (colloc-2), the look-ahead (colloc-greedy), the order,
// moves, stopping (and with it moves), memory by what is seen, and what is measured.
func Ablation() []sim.Policy {
	return []sim.Policy{
		Colloc{},
		Colloc{MaxSet: 2},
		Colloc{Budget: profile.Some(0)},
		Colloc{Without: online.Order},
		Colloc{Without: online.Moves},
		Colloc{Without: online.Detours},
		Colloc{NoStop: true},
		Colloc{NoSeen: true},
		Colloc{NoLearning: true},
	}
}

// Lacks says what a policy needs of tasks and these do not say, in words; it is
// empty if nothing is missing. Such a policy runs, but does not do what its name
// says: report it without its figures.
func Lacks(p sim.Policy, tasks []sim.Task) string {
	holds := func(has func(*sim.Task) bool) bool {
		for i := range tasks {
			if has(&tasks[i]) {
				return true
			}
		}
		return false
	}
	switch p.(type) {
	case Muri:
		if !holds(func(t *sim.Task) bool { return t.Stages.Iteration > 0 }) {
			return "the stages of an iteration"
		}
	case Lucid, Horus:
		if !holds(func(t *sim.Task) bool { return t.Busy > 0 }) {
			return "the utilisation of each task"
		}
	case BestFit, RandomNode, FGD:
		if !holds(func(t *sim.Task) bool { return t.Share > 0 }) {
			return "the shares of GPUs that tasks ask for"
		}
	}
	return ""
}

// Profiles reports whether a policy needs to know a task's use of the GPU or its
// speeds beside others. Somebody must measure these before it decides. Memory it
// may know from an estimator or from monitoring.
func Profiles(p sim.Policy) bool {
	switch p.(type) {
	case Greedy, Horus, Lucid, Gavel, Muri, Colloc:
		return true
	}
	return false
}

// ByName finds a policy of All or Ablation by its Name.
func ByName(name string) (sim.Policy, bool) {
	for _, p := range slices.Concat(All(), Ablation()) {
		if p.Name() == name {
			return p, true
		}
	}
	return nil, false
}
