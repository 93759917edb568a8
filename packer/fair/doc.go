// Package fair turns policies into weights: max-min and finish-time fairness, first
// come first served with patience, earliest deadline first, shortest remaining time,
// makespan, work for the money or for the joule. A plan that maximises the sum of weight times speed then
// serves the policy, so packing stays one problem whatever is wanted.
//
//	accounts := make([]fair.Account, len(tasks)) // what is known of each task
//	for i, t := range running {
//		accounts[i] = fair.Account{Age: now.Sub(t.Arrived), Attained: t.Work, GPUs: t.GPUs}
//	}
//	for i, w := range fair.Weights(fair.AlphaFair{}, accounts) {
//		tasks[i].Weight = w
//	}
//	s, err := solve.Auto{}.Pack(ctx, &packer.Problem{Tasks: tasks, GPUs: gpus, Model: model})
//
// A [Policy] gives the weight of one task. Rounds that maximise
//
//	Σ weight(i) · speed(i)
//
// climb the policy's own objective, for weights are its slope at what each task has
// had so far. Policies keep no state and may be used by many goroutines.
package fair
