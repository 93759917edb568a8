package predict

import "example.com/colloc/profile"

// OwnCost returns the part of a task's slowdown beside any company that does not
// depend on who that is: at most so much is added to the time of a step, as a part
// of a step alone, however many neighbours there are. Slowdowns add up otherwise:
// for every set S of two and more that holds task i, the values of
// [Interference.Speeds] satisfy, to rounding,
//
//	speed(i, S) <= max(LeastSpeed, 1/(1 + Σ cost(i, j) - (|S| - 2)·OwnCost(i)))   for j ∈ S \ i
//	cost(i, j)   = 1/speed(i, {i, j}) - 1
//
// because the losses of pairs are added, the own part once, and 1/speed - 1 is a
// convex function of the loss; nothing is said where the denominator is not
// positive. It is 0 for a mechanism without interference.
func (m *Interference) OwnCost(gpu *profile.GPUModel, mech profile.Mechanism, task *profile.Profile) float64 {
	if checkSharing(mech) != nil {
		return 0
	}
	r, _ := m.load().regime(gpuName(gpu), mech)
	own := r.roster.member(task)
	loss := r.ownLoss(&own, &company{known: 1, strange: 1})
	return 1/speedOf(max(0, loss)) - 1
}
