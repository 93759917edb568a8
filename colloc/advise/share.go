package advise

import (
	"fmt"
	"math"

	"example.com/colloc/profile"
)

// collocate finds how many tasks like this one should share the GPU: as many as
// memory, SMs and CPUs hold, of these the number with the largest set
// throughput at which nobody falls below the Planner's limit. nil if that is
// one.
func (v *view) collocate() *Remedy {
	most := v.copies()
	var best *Remedy
	for k := 2; k <= most; k++ {
		e, slowest, err := v.together(k)
		if err != nil {
			v.warn("sharing is not judged: %v", err)
			return best
		}
		limit := 1 / v.config.MaxSlowdown
		if slowest < limit || e.Value <= 1 || best != nil && e.Value <= best.Throughput.Value {
			continue
		}
		best = &Remedy{
			Action: Collocate, Count: k, Throughput: e,
			Text:   fmt.Sprintf("let %d tasks like this one share the GPU by %v", k, v.o.Mechanism),
			Source: "advise: memory and SM share say how many, the Planner's interference model how fast",
		}
	}
	return best
}

// copies is how many such tasks a GPU can hold.
func (v *view) copies() int {
	if v.reserved == 0 || v.total == 0 {
		return 1
	}
	most := float64(v.o.MaxCopies)
	most = min(most, float64(v.usable/v.reserved))
	if _, sm, known := v.sm(); known && sm > 0 {
		most = min(most, math.Floor(1/sm))
	}
	if cpu, known := v.p.Vector.Get(profile.MeanCPUBusy); known && cpu > 0 {
		most = min(most, math.Floor(1/cpu))
	}
	return int(most)
}

// together predicts the set throughput of k copies and the speed of the slowest.
func (v *view) together(k int) (Effect, float64, error) {
	set := make([]*profile.Profile, k)
	for i := range set {
		set[i] = v.p
	}
	speeds, err := v.config.Interference.Speeds(&v.gpu, v.o.Mechanism, set, nil)
	if err != nil {
		return Effect{}, 0, err
	}
	var e Effect
	slowest := math.Inf(1)
	for _, s := range speeds {
		e.Value, e.Lo, e.Hi = e.Value+s.Value, e.Lo+s.Lo, e.Hi+s.Hi
		slowest = min(slowest, s.Value)
	}
	return e, slowest, nil
}
