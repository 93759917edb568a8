package interference

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/profile"
)

// Predictor predicts how fast tasks run side by side on one GPU, as a share of
// their speed alone; the package comment says how it is computed. Make one with
// [Fit], [Load] or package pretrained.
//
// Whatever was learned: an empty neighbourhood gives speed 1, a neighbour that
// uses nothing costs nothing, neither more use of a neighbour nor one more
// neighbour ever raises a speed, and every speed is in (0, 1]. The order of tasks
// does not change one bit of a speed or its interval. Where nothing is known of
// one task of a pair, neither its use nor its model, physical terms alone judge
// the pair.
//
// A Predictor is safe for concurrent use. The zero value has seen nothing: it
// answers by the prior.
type Predictor struct {
	writer sync.Mutex // held by whoever changes the model
	state  atomic.Pointer[state]
}

// Equal reports whether both are the same Predictor, as == does; what two of them
// learned is not compared. go-cmp asks it.
func (m *Predictor) Equal(other *Predictor) bool { return m == other }

// state is what one prediction reads; it never changes once stored.
type state struct {
	options Options
	regimes []*regime
	priors  [profile.Mechanisms]*regime // for GPUs that no regime fits
	// learned says that the regimes are no longer those that the priors come from:
	// what is observed on one GPU says nothing of another.
	learned bool
}

func newState(o Options, regimes []*regime) *state {
	var priors [profile.Mechanisms]*regime
	for mech := range priors {
		priors[mech] = newPrior(profile.Mechanism(mech), regimes)
	}
	return stateOf(o, regimes, priors)
}

// stateOf solves the priors for their means.
func stateOf(o Options, regimes []*regime, priors [profile.Mechanisms]*regime) *state {
	if o.Confidence == 0 {
		o.Confidence = 0.9
	}
	s := &state{options: o, regimes: regimes, priors: priors}
	for _, p := range s.priors {
		p.post = lsq.Prior(p.lambda, p.mu, slopes())
		for k, v := range p.spread.Factor {
			p.spread.Factor[k] = v * normalQuantile(o.Confidence) / normalQuantile(0.9)
		}
	}
	return s
}

// load returns the current parameters; a zero Predictor has only priors.
func (m *Predictor) load() *state {
	if s := m.state.Load(); s != nil {
		return s
	}
	s := newState(Options{}, nil)
	m.state.CompareAndSwap(nil, s)
	return m.state.Load()
}

// regime returns the parameters for a GPU and mechanism, and whether they were
// fitted or learned rather than being the prior.
func (s *state) regime(gpu string, mech profile.Mechanism) (*regime, bool) {
	for _, r := range s.regimes {
		if r.mechanism == mech && r.gpu == gpu {
			return r, true
		}
	}
	return s.priors[mech], false
}

// with returns a state in which r stands for its GPU and mechanism.
func (s *state) with(r *regime, known bool) *state {
	next := &state{options: s.options, regimes: slices.Clone(s.regimes), priors: s.priors, learned: true}
	if !known {
		next.regimes = append(next.regimes, r)
		return next
	}
	for i, old := range next.regimes {
		if old.regimeKey == r.regimeKey {
			next.regimes[i] = r
		}
	}
	return next
}

// Fit fits one set of parameters per (GPU, mechanism) that occurs in obs, and the
// prior for all others. A nil o means the defaults. It returns an error that names
// the observation for sets and speeds of unequal length, for a mechanism that
// shares nothing, and for a speed that is not a number in (0, 4]. Without any observation the result answers by the prior.
//
// Slopes of physical terms are held at 0 or more; interval widths come from
// predictions of tasks that were left out, separately for known types, new types
// of known models, and new models. The same obs give the same model.
// O(n p² + p³) with n speeds and p = 9 + 2 types columns, times the 15 refits of
// the calibration: about a second for a thousand pairs.
func Fit(obs []Observation, o *Options) (*Predictor, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	var errs []error
	for i := range obs {
		if err := checkObservation(&obs[i]); err != nil {
			errs = append(errs, fmt.Errorf("predict: interference: observation %d: %w", i, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var regimes []*regime
	for _, g := range groupByRegime(obs) {
		r, err := fitRegime(g.regimeKey, g.obs, options)
		if err != nil {
			return nil, fmt.Errorf("predict: interference: %s under %v: %w", g.gpu, g.mechanism, err)
		}
		if err := r.calibrate(context.Background(), g.obs, options, math.MaxInt); err != nil {
			return nil, fmt.Errorf("predict: interference: %s under %v: calibration: %w", g.gpu, g.mechanism, err)
		}
		for _, o := range g.obs[max(0, len(g.obs)-mostRuns):] {
			r.rows = append(r.rows, strip(o))
		}
		r.trials = &trials{}
		regimes = append(regimes, r)
	}
	m := &Predictor{}
	m.state.Store(newState(options, regimes))
	return m, nil
}

// Observe learns from one measured co-run: the rows are added to the normal
// equations of its GPU and mechanism, each less what the trees say of it, and
// the solution is updated by rank one each, exactly as if it were solved anew
// with the rest; new types get their effects. What three and more tasks lose is no
// linear function of what is learned: their rows are its slopes at what is known then,
// and count less than pairs, by the width of their intervals. A GPU or mechanism seen for the
// first time starts from the prior. Readers see the model before or after the
// observation, never between.
//
// It returns an error, and learns nothing, for what [Fit] refuses.
// O(p²) per speed with p columns; it copies the solution.
func (m *Predictor) Observe(o Observation) error {
	if err := checkObservation(&o); err != nil {
		return fmt.Errorf("predict: interference: %w", err)
	}
	m.writer.Lock()
	defer m.writer.Unlock()
	s := m.load()
	key := regimeKey{catalogueName(o.GPU), o.Mechanism}
	old, known := s.regime(key.gpu, key.mechanism)
	r := old.successor(key, known, &o)
	r.learn(&o, 1-s.options.Confidence)
	r.keep(&o)
	m.state.Store(s.with(r, known))
	return nil
}

// Clone returns an independent copy: what either learns from now on, the other
// does not. A plan that asks the same question twice must get the same answer
// twice; it clones the model when it starts. Safe for concurrent use. O(p²) per
// GPU and mechanism, without solving anything.
func (m *Predictor) Clone() *Predictor {
	m.writer.Lock()
	defer m.writer.Unlock()
	s := *m.load()
	s.regimes = slices.Clone(s.regimes)
	for i, r := range s.regimes {
		s.regimes[i] = r.clone()
	}
	c := &Predictor{}
	c.state.Store(&s)
	return c
}

// Drift says how well a model's intervals hold for what was observed since it
// was fitted, over a window of about 32 observations.
type Drift struct {
	// Observations counts the speeds observed.
	Observations int `json:"observations"`
	// Misses is the share of them outside their interval, in [0, 1].
	Misses float64 `json:"misses"`
	// Bias is the mean of (seen loss − predicted loss) over the half width of the
	// interval: above 0, tasks are slower than predicted.
	Bias float64 `json:"bias"`
	// Alarm is set when, over at least 16 observations, more than twice as many
	// miss as the confidence allows, or the bias exceeds ½: the machine, the
	// software or the tasks are no longer those of the fit.
	Alarm bool `json:"alarm,omitempty"`
	// Fault names what is off where Alarm is set, and is empty elsewhere.
	Fault DriftFault `json:"fault,omitempty"`
}

// DriftFault is what an alarm is about.
type DriftFault string

// The faults that raise an alarm.
const (
	// SlowerThanPredicted: tasks lose more than predicted throughout, as after a driver or
	// a cooling that went worse.
	SlowerThanPredicted DriftFault = "slower than predicted"
	// FasterThanPredicted: they lose less throughout, as where solo runs were disturbed.
	FasterThanPredicted DriftFault = "faster than predicted"
	// OutsideIntervals: to either side, more miss than the confidence allows.
	OutsideIntervals DriftFault = "outside the intervals"
)

// Drift reports on one GPU and mechanism; the zero Drift where nothing was
// observed. O(1).
func (m *Predictor) Drift(gpu string, mech profile.Mechanism) Drift {
	s := m.load()
	for _, r := range s.regimes {
		if r.gpu == catalogueName(gpu) && r.mechanism == mech {
			return r.drift.told(s.options.Confidence)
		}
	}
	return Drift{}
}
