package policy

import "example.com/colloc/colloc/sim"

// All lists the policies of this package that need no data of their own, in the
// order in which reports show them. FGD without typical tasks is not among them.
func All() []sim.Policy {
	return []sim.Policy{
		FIFO{},
		FIFO{Backfill: true},
		Shortest{},
		Shortest{Service: true},
		LAS{},
		Random{},
		Greedy{},
		Horus{},
		Lucid{},
		CARMA{Order: MAGM},
		CARMA{Order: LUG},
		CARMA{Order: FirstFit},
		CARMA{Order: BestFitMemory},
		CARMA{Order: RoundRobin},
		CARMA{Order: MAGM, Blind: true},
		Gavel{},
		Muri{},
		Muri{Unaware: true},
		BestFit{},
		RandomNode{},
		Session{},
		Session{MaxSet: 4},
		Session{ByLength: true},
		Session{MaxSet: 4, ByLength: true},
		Session{NoLearning: true},
	}
}

// ByName finds a policy of All by its Name.
func ByName(name string) (sim.Policy, bool) {
	for _, p := range All() {
		if p.Name() == name {
			return p, true
		}
	}
	return nil, false
}
