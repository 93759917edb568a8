package online

import "time"

const (
	// quiet is how many times as long as the gaps between those before nobody has come, where the end of what is
	// there is the end of the day. Where tasks come at random it is that long after one of 150.
	quiet = 5
	// lastGaps is of how many gaps the mean is, the last ones most.
	lastGaps = 8
)

// arrivals is how often tasks come.
type arrivals struct {
	tasks int
	last  time.Duration // of the clock
	gap   time.Duration // between two
}

// note notes that a task came.
func (a *arrivals) note(at time.Duration) {
	at = max(a.last, at)
	if a.tasks > 0 {
		a.gap += (at - a.last - a.gap) / time.Duration(min(a.tasks, lastGaps))
	}
	a.tasks, a.last = a.tasks+1, at
}

// calm reports whether nobody seems to come any more, so that the day can be played to its end.
func (a *arrivals) calm(now time.Duration) bool {
	return a.tasks > 1 && (now-a.last)/quiet > a.gap
}
