package predict

import "example.com/colloc/profile"

// Drift says how well a model's intervals hold for what was observed since it
// was fitted, over a window of about 32 observations.
type Drift struct {
	// Observations counts the speeds observed.
	Observations int
	// Misses is the share of them outside their interval, in [0, 1].
	Misses float64
	// Bias is the mean of (seen loss − predicted loss) over the half width of the
	// interval: above 0, tasks are slower than predicted.
	Bias float64
	// Alarm is set when, over at least 16 observations, more than twice as many
	// miss as the confidence allows, or the bias exceeds ½: the machine, the
	// software or the tasks are no longer those of the fit.
	Alarm bool
}

// Drift reports on one GPU and mechanism; the zero Drift where nothing was
// observed. O(1).
func (m *Interference) Drift(gpu string, mech profile.Mechanism) Drift {
	s := m.load()
	for _, r := range s.regimes {
		if r.gpu == catalogueName(gpu) && r.mechanism == mech {
			d := r.drift
			off := d.Misses > 2*(1-s.options.Confidence) || d.Bias > 0.5 || d.Bias < -0.5
			return Drift{d.Seen, d.Misses, d.Bias, off && d.Seen >= driftWindow/2}
		}
	}
	return Drift{}
}

// drift watches whether observations stay within their intervals: an
// exponentially weighted share of misses, and of signed errors in units of the
// half width. It is a value: a copy is independent.
type drift struct {
	// Misses is the weighted share of observations outside their interval.
	Misses float64 `json:"misses"`
	// Bias is the weighted mean of error over half width; above 0, tasks lose
	// more than predicted.
	Bias float64 `json:"bias"`
	// Seen counts the observations.
	Seen int `json:"seen"`
}

// driftWindow is how many observations the averages remember.
const driftWindow = 32

// add records one error (seen loss minus predicted) and its half width.
func (d *drift) add(err, half float64) {
	if !(half > 0) {
		return
	}
	d.Seen++
	rate := 1 / float64(min(d.Seen, driftWindow))
	miss := 0.0
	if err > half || err < -half {
		miss = 1
	}
	d.Misses += rate * (miss - d.Misses)
	d.Bias += rate * (err/half - d.Bias)
}
