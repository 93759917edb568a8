// Package harness is for tests of schedulers that use colloc, without a GPU: a fleet of
// GPUs that pretends, and what stands between a Planner, a Ledger and the simulator.
//
//	cards, err := harness.Cards("2x4xA100-40GB")        // nodes of four
//	fleet, err := harness.New(harness.Config{GPUs: cards})
//	books, err := ledger.New(ledger.Config{GPUs: cards, Now: fleet.Now})
//	...
//	err = fleet.Start(task, truth, "node0/gpu1")        // what the scheduler under test decided
//	event, ok := fleet.Step(time.Time{})                // the next that ends or dies
//	err = planner.Observe(event.Seen)                   // what was measured
//
// In a [Fleet] time passes when [Fleet.Step] is called, tasks share GPUs at the speeds
// that a [sim.Model] says, and one whose memory does not fit dies. A scheduler under
// test drives it. Where whole traces are to be replayed the simulator drives:
//
//	result, err := sim.Run(ctx, cluster, tasks, harness.Policy{Planner: planner}, sim.Options{})
package harness
