// Package harness is for tests of schedulers that use colloc, without a GPU: a fleet of
// GPUs that pretends.
//
//	cards, err := harness.Cards("2x4xA100-40GB")        // nodes of four
//	fleet, err := harness.New(harness.Config{GPUs: cards})
//	...
//	err = fleet.Start(task, truth, "node0/gpu1")        // what the scheduler under test decided
//	event, ok := fleet.Step(time.Time{})                // the next that ends or dies
//	err = planner.Observe(event.Seen)                   // what was measured
//
// In a [Fleet] time passes when [Fleet.Step] is called, tasks share GPUs at the speeds
// that a [sim.Model] says, and one whose memory does not fit dies. A scheduler under
// test drives it.
package harness
