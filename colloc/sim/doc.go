// Package sim replays a cluster: tasks arrive, a policy decides which GPUs they
// share, and the simulation says what that would have cost in time, energy and
// failures, in seconds and without a GPU.
//
//	result, err := sim.Run(ctx, cluster, tasks, policy.FIFO{}, sim.Options{})
//
// A policy sees what a scheduler sees: arrivals, what its predictions say, what
// monitoring shows, never the truth. The truth is a [Model] of speeds (measured
// pairs, a contention model, Muri's stages, a constant) and the tasks' own
// memory and length. The distance between the two is an option, so that a policy
// can be tried with perfect knowledge and with 20 % error.
//
// # Packages
//
// Package speed holds the models, package trace reads published traces and
// generates new ones, package policy holds published policies and ours, package
// bound proves what none of them comes below, package
// simtest checks any policy against the rules that every scheduler must keep.
//
// # Time and work
//
// Time is a [time.Duration] since the start of the trace. Work is the time that
// a task takes alone on the reference GPU; a task of speed s does s of it per
// unit of time. A gang runs at the speed of its slowest GPU. Between two events
// speeds do not change, so nothing happens that is not an event, and the cost of
// a run depends on the number of events, not on the time they span.
//
// # Events
//
// At each moment the simulation finishes tasks, lets GPUs fail and return, lets
// tasks arrive, and then asks the policy once. A task whose memory does not fit
// dies [Options].OOMAfter after it was placed and waits again: which of them is
// the one that came last, as in reality the allocation that fails is the last.
//
// # Same input, same bytes
//
// A run is sequential and reads no clock; every random number comes from a seed.
// Sums are accumulated in the order of events with explicit rounding, so that
// the compiler's choice of instructions changes nothing.
package sim
