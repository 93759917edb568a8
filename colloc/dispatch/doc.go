// Package dispatch is the one brain that every scheduler of colloc drives: what happened goes in
// as events, what starts and stops comes out as actions. It runs no process, speaks no
// protocol, reads no clock, starts no goroutine and opens no file; the same calls give the
// same answers on every machine.
//
//	d, err := dispatch.New(planner, nil)
//	...
//	err = d.Tell(now, dispatch.GPUAdded{GPU: gpu}, dispatch.Submitted{Job: job})
//	actions, err := d.Decide(ctx, now)
//	for _, a := range actions {
//		... carry it out, and tell what came of it: Started, Refused, Ended
//	}
//
// What carries actions out is a body: a daemon that starts processes, a controller of
// Kubernetes, a simulator. [Mind] is what predicts; a [colloc.Planner] is one.
//
// Each start has a run number of its own. Started, Refused and Ended name job and run, so that
// what comes late, twice or out of order is told apart, as an error that changes nothing.
// A start holds from Decide on. It has a deadline: one that nobody answers is stopped, and
// its job waits again in its turn. A job whose start was refused waits for a while, longer with
// each refusal at one place.
//
// Nothing is kept of a job that is over but what its kind has taught.
package dispatch
