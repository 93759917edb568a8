package interference

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/predict/internal/memo"
	"example.com/colloc/predict/internal/trees"
	"example.com/colloc/profile"
)

// regime holds the parameters of one (GPU, mechanism).
type regime struct {
	regimeKey
	roster  *roster
	lambda  []float64       // precision of the prior of each column
	mu      []float64       // mean of the prior of each column
	base    *lsq.Sums       // what the fit saw
	learned *lsq.Sums       // what Observe saw; only the writer reads it
	post    *lsq.Posterior  // the solution of all of it
	updated bool            // row by row, and not solved since
	trees   *trees.Ensemble // what the terms leave over, for types like those fitted; nil is none
	memo    *treeMemo       // what the trees said before; nil asks them each time
	spread  spread
	drift   drift

	rows       []*Observation             // of the fit, unless it was loaded; files have none
	past       *lsq.Sums                  // what had been learned when it was loaded; nil is nothing
	whole      bool                       // base is of what is kept: a refit to that replaces it
	memory                                // what was observed since and is kept
	credited   map[*Observation][]float64 // what speeds count while it is fitted; nil is all in full
	trials     *trials                    // of both
	observed   int                        // how many were, kept or not
	calibrated int                        // how many were at the last calibration
}

func (r *regime) curve() curve { return curveOf(r.mechanism) }

// spread turns a prediction's variance into the half width of its interval.
type spread struct {
	// Noise is the standard deviation of one measured loss.
	Noise float64 `json:"noise"`
	// Factor holds, per familiarity, the conformal quantile of
	// |error| / (Noise √(1 + variance)) over tasks that the fit had not seen.
	Factor [familiarities]float64 `json:"factor"`
	// Usual holds what Factor is where families do not count for themselves, of types that
	// were met since the fit: measurements are judged by it, as families that are harder
	// must not make false ones credible. 0 is Factor.
	Usual [familiarities]float64 `json:"usual,omitzero"`
	// Slower is Factor for the lower end of a speed, of types that were met since the fit:
	// what a family loses beyond what is predicted reaches further than what it gains. 0 is Factor.
	Slower [familiarities]float64 `json:"slower,omitzero"`
	// Groups holds, per familiarity, on how many independent groups the factor
	// rests; 0 is none of its own.
	Groups [familiarities]int `json:"groups"`
}

// Where all types of a set are known its familiarity is 0 if they are of the fit, else how
// well: by the variance of the prediction in units of the noise, which falls with every
// co-run that is learned. Beyond are five of sets with strangers, see [familiarity].
const (
	knownLevels   = 7
	familiarities = knownLevels + 5
)

// knownUpTo are the largest variances of all but the last of those that were met: beside a
// type of which a hundred co-runs are known, one of twelve co-runs, six, three, one.
func knownUpTo() [knownLevels - 2]float64 { return [...]float64{0.15, 0.25, 0.4, 0.6, 1} }

// wider is how much less is known of a set than of a pair.
func wider(tasks int) float64 { return 1 + 0.5*float64(max(0, tasks-2)) }

// mostHalf is the half width beyond which the size of a set widens nothing: that of the
// prior of a pair. AEGIS' trials of four and five lie within it.
const mostHalf = priorFactor * priorNoise

// half is the part of an interval on one side of a predicted loss, by a factor of the spread.
func (s *spread) half(factor, variance float64, tasks int) float64 {
	half := factor * s.Noise * math.Sqrt(1+variance)
	return max(half, min(wider(tasks)*half, mostHalf))
}

// halves are the parts of an interval towards more loss and towards less.
func (r *regime) halves(variance float64, level, tasks int) (slower, faster float64) {
	s, widen := &r.spread, r.drift.factor(level)
	lower := max(s.Factor[level], s.Slower[level]*math.Exp(r.drift.Nearer))
	return widen * s.half(lower, variance, tasks), widen * s.half(s.Factor[level], variance, tasks)
}

// usual is the half width that measurements are judged by.
func (s *spread) usual(variance float64, level, tasks int) float64 {
	return s.half(cmp.Or(s.Usual[level], s.Factor[level]), variance, tasks)
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
	// Wider is the logarithm of how much wider than calibrated the intervals are of
	// types that were met since the fit.
	Wider float64 `json:"wider,omitempty"`
	// Nearer is the logarithm, 0 or less, of how much nearer than calibrated their lower
	// ends are, where these are further off than the upper ones.
	Nearer float64 `json:"nearer,omitempty"`
}

// leastNearer bounds it.
const leastNearer = -3

// mostOff is the most that one error counts for the bias, so that one raises no alarm.
const mostOff = 3

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
	d.Bias += rate * (max(-mostOff, min(mostOff, err/half)) - d.Bias)
}

// widenBy is how far one miss widens intervals, as a logarithm, but for the risk. From .05
// to .3 Lucid's worst family is covered for .87 to .90 of what intervals of .23 to .26 hold.
const widenBy = 0.1

// adapt widens the intervals of types that were met since the fit by each measurement that
// they miss, and narrows them by the others, down to what was calibrated, so that a share
// of at most risk is missed of whatever comes (adaptive conformal inference, Gibbs and
// Candès, NeurIPS 2021, arXiv 2106.00170): the next family may be harder than those of the
// calibration. Lower ends that are further off than upper ones come as near as these while no
// more than half of that share is below them.
func (d *drift) adapt(err, slower, faster, risk float64, level int) {
	if !met(level) || !(faster > 0) {
		return
	}
	missed, below := -risk, -risk/2
	if err > slower || -err > faster {
		missed++
	}
	if err > slower {
		below++
	}
	d.Nearer = max(leastNearer, min(0, d.Nearer+float64(widenBy*below)))
	d.Wider = max(0, min(math.Log(conformal.MaxWiden), d.Wider+float64(widenBy*missed)))
}

// factor is what the half width of an interval is multiplied by.
func (d *drift) factor(level int) float64 {
	if met(level) {
		return math.Exp(d.Wider)
	}
	return 1
}

// met says that a familiarity is of types that are known, but not all of them from the fit.
func met(level int) bool { return level > 0 && level < knownLevels }

// mostBias is how far off to one side measurements may be in the mean.
const mostBias = 0.5

// aside reports that measurements are off to one side in the mean.
func (d *drift) aside() bool { return d.Seen >= driftWindow/2 && math.Abs(d.Bias) > mostBias }

// doubts reports that measurements are off to one side throughout, and would be without any
// one of them: a false one must not make itself credible.
func (d *drift) doubts() bool {
	return d.aside() && math.Abs(d.Bias)-mostOff/float64(min(d.Seen, driftWindow)) > mostBias
}

// told is what is made known of it.
func (d *drift) told(confidence float64) Drift {
	out := Drift{Observations: d.Seen, Misses: d.Misses, Bias: d.Bias}
	switch {
	case d.Seen < driftWindow/2:
	case d.aside() && d.Bias > 0:
		out.Fault = SlowerThanPredicted
	case d.aside():
		out.Fault = FasterThanPredicted
	case d.Misses > 2*(1-confidence):
		out.Fault = OutsideIntervals
	}
	out.Alarm = out.Fault != ""
	return out
}

// treeMemo remembers what the trees of one regime said of pairs.
type treeMemo struct {
	memo.Table[[2]memberBits, float64]
}

// predict returns what t says of a task beside another; both remember their
// bits.
func (m *treeMemo) predict(t *trees.Ensemble, own, other *member) float64 {
	hash := (own.hash ^ bits.RotateLeft64(other.hash, 32)) * memo.Spread
	hash ^= hash >> 29
	if e := m.At(hash); e != nil && e.Key[0] == own.bits && e.Key[1] == other.bits {
		return e.Value
	}
	row := treeRow(own, other)
	value := t.Predict(row[:])
	m.Put(&[2]memberBits{own.bits, other.bits}, hash, value)
	return value
}

func (r *regime) members(set []*profile.Profile) []member {
	out := make([]member, len(set))
	for i, p := range set {
		out[i] = r.roster.member(p)
	}
	return out
}

// clone copies a regime with the sums that Observe adds to; all else is never
// modified in place.
func (r *regime) clone() *regime {
	c := *r
	c.learned = r.learned.Clone()
	c.memory = r.clip()
	return &c
}

// successor returns a copy of a regime that may be changed, with columns for
// every type of the observation.
func (r *regime) successor(key regimeKey, known bool, o *Observation) *regime {
	next := *r
	next.regimeKey, next.trials = key, &trials{}
	if !known {
		next.learned, next.base = &lsq.Sums{}, &lsq.Sums{}
	}
	for _, p := range o.Set {
		if t, ok := typeOf(p); ok {
			next.roster = next.roster.with(t, false)
		}
	}
	if next.roster != r.roster {
		next.lambda = next.roster.precisions(key.mechanism)
		next.mu = append(slices.Clone(r.mu), make([]float64, len(next.lambda)-len(r.mu))...)
	}
	next.learned.Grow(len(next.lambda))
	next.post = r.post.Clone(next.lambda, next.mu)
	return &next
}

// unseenLoss is the prior mean of what a task without observed use loses beside
// another such: both are taken to keep their GPU busy, and share it evenly.
const unseenLoss = 0.5

// sameModelSlope is the prior mean of its term; those of the others are 0.
const sameModelSlope = 0.05

const (
	priorNoise  = 0.1
	priorFactor = 1.65
)

// priorSpread is the interval of the prior: half of what one neighbour at full
// use can cost.
func priorSpread() spread {
	s := spread{Noise: priorNoise}
	for i := range s.Factor {
		s.Factor[i] = priorFactor
	}
	return s
}

// newPrior builds the parameters for a mechanism without any of its own: the
// mean of the default slopes and of what the fitted regimes of the mechanism
// say, effects of known types included. Its precision is that of one pair of
// regimes: where they disagree, one measurement moves it as far as their
// variance allows.
func newPrior(mech profile.Mechanism, fitted []*regime) *regime {
	r := &regime{regimeKey: regimeKey{mechanism: mech}, roster: &roster{}, spread: priorSpread(), base: &lsq.Sums{}, learned: &lsq.Sums{}}
	var known []*regime
	for _, f := range fitted {
		if f.mechanism == mech && f.base.N > 0 {
			known = append(known, f)
			for _, e := range f.roster.effects {
				if !e.all {
					r.roster = r.roster.with(e.taskType, false)
				}
			}
		}
	}
	r.lambda, r.mu = r.roster.precisions(mech), make([]float64, r.roster.columns())
	slopes, n := defaultSlopes(mech), 1.0
	for _, f := range known {
		if f.saw(interceptColumn) { // only observed use says what use costs
			n++
			r.mu[interceptColumn] += f.post.Coef[interceptColumn]
			for k := range slopes {
				slopes[k] += f.post.Coef[termColumns+k]
			}
		}
	}
	r.mu[interceptColumn] /= n
	for k, sum := range slopes {
		r.mu[termColumns+k] = sum / n
	}
	r.mu[unseenColumn], n = unseenLoss, 1
	for _, f := range known {
		if f.saw(unseenColumn) {
			n++
			r.mu[unseenColumn] += f.post.Coef[unseenColumn]
		}
	}
	r.mu[unseenColumn] /= n
	for e := range r.roster.effects {
		r.mu[ownColumn(int32(e))], r.mu[otherColumn(int32(e))] = meanEffect(known, r.roster.effects[e].taskType)
	}
	return r
}

// saw reports that some row of the fit has a column. A file may have fewer of them.
func (r *regime) saw(column int) bool {
	return column < len(r.base.G) && r.base.H[lsq.PackedLen(column)+column] > 0
}

// blind reports that the fit had rows, and in none of them was the use of a task observed.
func (r *regime) blind() bool { return r.base.N > 0 && !r.saw(interceptColumn) }

// meanEffect averages the effects of a type over the regimes, absent ones
// counting as 0.
func meanEffect(known []*regime, t taskType) (own, other float64) {
	for _, f := range known {
		if e := f.roster.find(t); e != noEffect {
			own += f.post.Coef[ownColumn(e)]
			other += f.post.Coef[otherColumn(e)]
		}
	}
	n := float64(len(known))
	return own / n, other / n
}

// normalQuantile is the half width, in standard deviations, of the central
// interval of a normal distribution with the given probability.
func normalQuantile(confidence float64) float64 { return math.Sqrt2 * math.Erfinv(confidence) }
