// Package dispatchtest says what every body of package dispatch must keep, as a test: a small
// cluster that pretends, with a script of faults.
//
//	func TestBody(t *testing.T) {
//		dispatchtest.Run(t, func(w *dispatchtest.World) (dispatchtest.Body, error) { return open(w) })
//	}
//
// Starts are refused, never answered or answered late, events come twice and out of order, GPUs
// fail and come back, users withdraw and hold jobs, and now and then the body restarts: with what
// it saved, or with nothing. Then it is told everything anew. Whatever happens, each job runs once at
// a time, is done once, and none is lost. No GPU is promised beyond its memory, nothing starts on a
// GPU that is out of service, no job starts in the place of one of a higher class, no user holds
// more than their limit, and the same events come to the same actions.
package dispatchtest
