package predict

import (
	"fmt"
	"math"

	"example.com/colloc/profile"
)

// InterferenceOptions configure [FitInterference]; nil and the zero value are
// the documented defaults.
type InterferenceOptions struct {
	// Confidence is the probability that an interval covers; 0 means 0.9.
	Confidence float64 `json:"confidence"`
	// NoTrees leaves out the boosted trees, so that the model is linear in its
	// terms and effects.
	NoTrees bool `json:"no_trees,omitempty"`
	// Seed chooses the folds of the calibration and the rows of the trees.
	Seed uint64 `json:"seed,omitempty"`
	// Provenance says where the observations come from; it is saved.
	Provenance string `json:"provenance,omitempty"`
}

func (o *InterferenceOptions) withDefaults() (InterferenceOptions, error) {
	var d InterferenceOptions
	if o != nil {
		d = *o
	}
	if d.Confidence == 0 {
		d.Confidence = 0.9
	}
	if !(d.Confidence > 0 && d.Confidence < 1) {
		return d, fmt.Errorf("predict: interference: confidence is %v, want more than 0 and less than 1", d.Confidence)
	}
	return d, nil
}

// Precisions of the priors, in units of one observation: how many measurements
// it takes to believe half of what they say. They are the ratio of the noise
// variance of one speed to the variance of what the column stands for, and were
// chosen by leave-one-model-out on Lucid; twice or half of any changes the mean
// absolute error by less than 0.001.
const (
	interceptPrecision  = 5
	termPrecision       = 2
	ownModelPrecision   = 1
	ownTypePrecision    = 2
	otherModelPrecision = 4
	otherTypePrecision  = 4
)

// sameModelSlope is the prior mean of its term; those of the others are 0.
const sameModelSlope = 0.05

// precisions returns the prior precision of every column of a roster.
func (r *roster) precisions() []float64 {
	lambda := make([]float64, r.columns())
	lambda[interceptColumn] = interceptPrecision
	for k := range termCount {
		lambda[termColumns+k] = termPrecision
	}
	for e := range r.effects {
		own, other := float64(ownTypePrecision), float64(otherTypePrecision)
		if r.effects[e].all {
			own, other = ownModelPrecision, otherModelPrecision
		}
		lambda[ownColumn(int32(e))], lambda[otherColumn(int32(e))] = own, other
	}
	return lambda
}

// The prior of a GPU and mechanism that nothing was fitted for, as slopes of the
// terms. Time-slicing: two tasks that fill the SMs run at half speed, and a
// neighbour's memory traffic costs what non-negative least squares finds on
// Lucid's RTX 3090. MPS runs kernels side by side where SMs are free, so that
// only demand beyond the GPU and shared bandwidth cost; no public measurement of
// it has a solo reference.
func defaultSlopes(mech profile.Mechanism) terms {
	if mech == profile.MPS {
		return terms{smOverflow: 0.4, dramSteal: 0.15, dramOverflow: 0.4, dramMeeting: 0.2, sameModel: 0.05}
	}
	return terms{smOverflow: 0.35, dramSteal: 0.2, dramOverflow: 0.1, smMeeting: 0.1, sameModel: 0.1}
}

// priorSpread is the interval of the prior: half of what one neighbour at full
// use can cost.
func priorSpread() spread {
	s := spread{Noise: 0.1}
	for i := range s.Factor {
		s.Factor[i] = 1.65
	}
	return s
}

// newPrior builds the parameters for a mechanism without any of its own: the
// mean of the default slopes and of what the fitted regimes of the mechanism
// say, effects of known types included. Its precision is that of one pair of
// regimes: where they disagree, one measurement moves it as far as their
// variance allows.
func newPrior(mech profile.Mechanism, fitted []*regime) *regime {
	r := &regime{regimeKey: regimeKey{mechanism: mech}, roster: &roster{}, spread: priorSpread(), base: &normal{}, learned: &normal{}}
	var known []*regime
	for _, f := range fitted {
		if f.mechanism == mech && f.base.n > 0 {
			known = append(known, f)
			for _, e := range f.roster.effects {
				if !e.all {
					r.roster = r.roster.with(e.taskType, false)
				}
			}
		}
	}
	r.lambda, r.mu = r.roster.precisions(), make([]float64, r.roster.columns())
	for k, mean := range defaultSlopes(mech) {
		for _, f := range known {
			mean += f.post.coef[termColumns+k]
		}
		r.mu[termColumns+k] = mean / float64(len(known)+1)
	}
	for e := range r.roster.effects {
		r.mu[ownColumn(int32(e))], r.mu[otherColumn(int32(e))] = meanEffect(known, r.roster.effects[e].taskType)
	}
	for _, f := range known {
		r.mu[interceptColumn] += f.post.coef[interceptColumn] / float64(len(known)+1)
	}
	return r
}

// meanEffect averages the effects of a type over the regimes, absent ones
// counting as 0.
func meanEffect(known []*regime, t taskType) (own, other float64) {
	for _, f := range known {
		if e := f.roster.find(t); e != noEffect {
			own += f.post.coef[ownColumn(e)]
			other += f.post.coef[otherColumn(e)]
		}
	}
	n := float64(len(known))
	return own / n, other / n
}

func newState(o InterferenceOptions, regimes []*regime) *interferenceState {
	if o.Confidence == 0 {
		o.Confidence = 0.9
	}
	s := &interferenceState{options: o, regimes: regimes}
	for mech := range profile.Mechanisms {
		p := newPrior(profile.Mechanism(mech), regimes)
		p.post = priorOnly(p.lambda, p.mu, slopes())
		for k, v := range p.spread.Factor {
			p.spread.Factor[k] = v * normalQuantile(o.Confidence) / normalQuantile(0.9)
		}
		s.priors[mech] = p
	}
	return s
}

// normalQuantile is the half width, in standard deviations, of the central
// interval of a normal distribution with the given probability.
func normalQuantile(confidence float64) float64 { return math.Sqrt2 * math.Erfinv(confidence) }
