package interference

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"example.com/colloc/predict/internal/corun"
	"example.com/colloc/predict/internal/lsq"
)

const (
	// mostRuns is how many co-runs a GPU and mechanism keep for a refit.
	mostRuns = 5000
	// calibrationRuns is how many of the newest a refit calibrates intervals on, of
	// how many types at most, and in how many folds of families: 26 fits in all.
	// leastRuns is how many it needs for that.
	calibrationRuns    = 400
	calibrationTypes   = 100
	calibrationHoldout = 16
	leastRuns          = 60
)

// Refit fits the model anew to the co-runs that it kept, and to the observations of
// [Fit] where it came from there: coefficients, the trees and what they are told of
// types, which Observe leaves as they are, so that what was learned of a task
// reaches tasks like it under other names. Where the speeds of all tasks have moved to one
// side from some co-run on, those before it are forgotten. Files of Save hold sums, no rows: what a
// model loaded from one was fitted to stays as it was, its trees too, and they are told
// of the types seen since. Intervals are calibrated anew where the co-runs since the last time
// have doubled, on the newest 400 of at most 100 types.
//
// The result is a new version: m changes at once, after all work is done, and a
// [Predictor.Clone] taken before does not. Co-runs that are observed meanwhile are
// learned on top. The same observations give the same model.
//
// It returns ctx.Err() when cancelled, which it asks between two fits, and an error
// where the equations cannot be solved; m is then as before. Safe for concurrent use;
// run it in the background. O(n p² + p³ + trees), and 26 smaller fits where it
// calibrates: 2 s of a CPU for 5000 co-runs of up to 200 names, of each GPU and
// mechanism. At most about 5000 of each are kept, the newest of each set of types first.
func (m *Predictor) Refit(ctx context.Context) error {
	s := m.load()
	fitted := make(map[regimeKey]*regime)
	began := make(map[regimeKey]int)
	for _, r := range s.regimes {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("predict: interference: refit: %w", err)
		}
		if len(r.runs) == 0 { // nothing new, and its sums are the writer's
			continue
		}
		next, err := r.refit(ctx, s.options)
		if err != nil {
			return fmt.Errorf("predict: interference: refit: %s under %v: %w", r.gpu, r.mechanism, err)
		}
		fitted[r.regimeKey], began[r.regimeKey] = next, r.observed
	}
	m.writer.Lock()
	defer m.writer.Unlock()
	now := *m.load()
	now.regimes, now.learned = slices.Clone(now.regimes), now.learned || len(fitted) > 0
	for i, late := range now.regimes {
		next := fitted[late.regimeKey]
		if next == nil { // nothing to fit anew when this began
			continue
		}
		missed := late.observed - began[late.regimeKey]
		for _, o := range late.runs[max(0, len(late.runs)-missed):] {
			next = next.successor(next.regimeKey, true, o)
			next.learn(o, 1-now.options.Confidence)
			next.keep(o)
		}
		now.regimes[i] = next
	}
	m.state.Store(&now)
	return nil
}

// With returns a model that knows what m does and obs, for example one's own co-runs
// beside the pretrained model, which [Fit] to them alone would forget: GPUs and mechanisms
// that m does not know are fitted as by Fit, what it knows of others is refitted with the
// co-runs added. m stays as it is, and its options hold. Errors and cost are those of
// Fit, [Predictor.Observe] and [Predictor.Refit].
func (m *Predictor) With(ctx context.Context, obs []Observation) (*Predictor, error) {
	next := m.Clone()
	old := next.load()
	var rest []Observation
	for _, o := range obs {
		if _, known := old.regime(catalogueName(o.GPU), o.Mechanism); !known {
			rest = append(rest, o)
		} else if err := next.Observe(o); err != nil {
			return nil, err
		}
	}
	if err := next.Refit(ctx); err != nil {
		return nil, err
	}
	own, err := Fit(rest, &old.options)
	if err != nil {
		return nil, err
	}
	both := newState(old.options, slices.Concat(next.load().regimes, own.load().regimes))
	both.learned = true // so that files tell the priors
	next.state.Store(both)
	return next, nil
}

// Forget drops all that was observed on a GPU product since [Fit], under either mechanism, as
// after a repair or a new driver, and returns how many co-runs were kept of it. What is then
// predicted is what the fit, the file or the prior says; intervals that were calibrated while
// learning stay. It returns an error where the equations cannot be solved; nothing is
// forgotten then. The cost is that of a [Predictor.Refit] without calibration, and
// co-runs that arrive meanwhile wait.
func (m *Predictor) Forget(gpu string) (int, error) {
	m.writer.Lock()
	defer m.writer.Unlock()
	now, kept := *m.load(), 0
	var left []*regime
	for _, r := range now.regimes {
		if r.gpu != catalogueName(gpu) || r.drift.Seen == 0 && len(r.runs) == 0 && r.past == nil {
			left = append(left, r)
			continue
		}
		kept += len(r.runs)
		if r.rows == nil && (r.whole || r.base.N == 0) { // it began with the prior
			continue
		}
		fresh := *r
		fresh.memory, fresh.past, fresh.drift, fresh.observed, fresh.calibrated = memory{}, nil, drift{}, 0, 0
		fit := fresh.refitLearned
		if r.rows != nil {
			fit = func() (*regime, error) { return fresh.refitWhole(now.options) }
		}
		next, err := fit()
		if err != nil {
			return 0, fmt.Errorf("predict: interference: forget: %s under %v: %w", r.gpu, r.mechanism, err)
		}
		next.rows, next.whole, next.trials = r.rows, r.rows != nil, &trials{}
		left = append(left, next)
	}
	now.regimes, now.learned = left, true
	m.state.Store(&now)
	return kept, nil
}

// refit returns the regime fitted anew to what it kept, of which there must be some, but
// for what is of another world than the newest.
func (r *regime) refit(ctx context.Context, o Options) (*regime, error) {
	from := *r
	r = &from
	fit := r.refitLearned
	whole := r.whole || r.rows != nil || r.base.N == 0 && r.past == nil
	if whole {
		fit = func() (*regime, error) { return r.refitWhole(o) }
	}
	var next *regime
	for first := -1; first != 0; {
		r.credited = r.credits(r.drift.doubts())
		var err error
		if next, err = fit(); err != nil {
			return nil, err
		}
		next.memory = r.memory
		if first = next.changed(); first > 0 {
			r.memory, r.trials = r.since(first), &trials{}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	next.rows, next.memory, next.past, next.whole, next.credited = r.rows, r.clip(), r.past, whole, nil
	next.trials = r.trials
	next.drift, next.observed, next.calibrated = r.drift, r.observed, r.calibrated
	if !whole || len(r.runs) < leastRuns || r.observed < 2*r.calibrated {
		return next, nil
	}
	some := calibrated(slices.Concat(r.rows, r.runs))
	if len(some) < leastRuns {
		return next, nil
	}
	if err := next.calibrate(ctx, some, o, calibrationHoldout); err != nil {
		return nil, err
	}
	next.calibrated = r.observed
	return next, nil
}

// calibrated returns the newest co-runs that intervals are calibrated on: a fit takes
// the cube of the number of types, so that those beyond the newest are left out.
func calibrated(all []*Observation) []*Observation {
	known := make(map[taskType]bool)
	var some []*Observation
	for i := len(all) - 1; i >= 0 && len(some) < calibrationRuns; i-- {
		var types []taskType
		for _, p := range all[i].Set {
			if t, named := typeOf(p); named && !known[t] && !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
		if len(known)+len(types) > calibrationTypes {
			continue
		}
		for _, t := range types {
			known[t] = true
		}
		some = append(some, all[i])
	}
	slices.Reverse(some)
	return some
}

// refitWhole fits to all rows, from the prior that the regime began with.
func (r *regime) refitWhole(o Options) (*regime, error) {
	start := &regime{regimeKey: r.regimeKey, roster: (&roster{}).trainedOn(r.rows), spread: r.spread, credited: r.credited}
	start.roster.fitted = int32(len(start.roster.effects))
	if r.rows == nil { // it began with the prior of its mechanism
		start.roster, start.mu = r.roster, r.mu
	}
	return start.fit(slices.Concat(r.rows, r.runs), o)
}

// refitLearned keeps the sums of the fit and its trees. Types that were learned
// since tell the trees their traits, and the co-runs count less what these say then.
func (r *regime) refitLearned() (*regime, error) {
	next := *r
	grown := *r.roster
	grown.effects = slices.Clone(r.roster.effects)
	for e := range grown.effects {
		if k := &grown.effects[e]; !k.trained {
			k.traits = [2]float64{r.post.Coef[ownColumn(int32(e))], r.post.Coef[otherColumn(int32(e))]}
		}
	}
	next.roster, next.learned, next.memo = &grown, &lsq.Sums{}, &treeMemo{}
	if r.past != nil {
		next.learned = r.past.Clone()
	}
	next.learned.Grow(len(next.lambda))
	for _, o := range r.runs {
		next.sum(o)
	}
	var err error
	next.post, err = lsq.Solve(next.lambda, next.mu, slopes(), next.base, next.learned)
	next.updated = false
	return &next, err
}

// sum adds the speeds of one co-run, less what the trees say, to what was learned.
func (r *regime) sum(o *Observation) {
	set := r.members(o.Set)
	var x lsq.Row
	for i, speed := range o.Speeds {
		if v, ok := speed.Get(); ok && len(set) > 1 {
			loss := r.curve().measured(v)
			r.fillRow(&x, set, i)
			r.learned.AddRow(&x, r.target(&x, set, i, loss), r.weight(loss, len(set))*r.credit(o, i))
		}
	}
}

// keep remembers a co-run for the next refit. Of more than a quarter beyond what is
// kept, the newest of every set of types stay: of sets seen again and again the
// oldest go first, since they tell least.
func (r *regime) keep(o *Observation) {
	r.observed++
	r.add(o)
	if len(r.runs) <= mostRuns+mostRuns/4 {
		return
	}
	age := make([]int, len(r.runs)) // 1 is the newest of its set of types
	seen := make(map[string]int)
	for i := len(r.runs) - 1; i >= 0; i-- {
		key := setKey(r.runs[i])
		seen[key]++
		age[i] = seen[key]
	}
	most := 1
	count := make(map[int]int)
	for _, a := range age {
		count[a]++
	}
	total := 0
	for _, a := range slices.Sorted(maps.Keys(count)) {
		if total += count[a]; total > mostRuns {
			break
		}
		most = a
	}
	r.only(func(i int) bool { return age[i] <= most })
	r.memory = r.since(max(0, len(r.runs)-mostRuns))
}

// keptFile is the file form of what a refit starts from.
func (r *regime) keptFile() *keptFile {
	f := &keptFile{Observed: pack(r.runs), Whole: r.whole, Count: r.observed, Calibrated: r.calibrated, Clock: r.clock, Stamps: r.stamps}
	if r.rows != nil {
		f.Fit = pack(r.rows)
	}
	if r.past != nil {
		past := learnedSums(r.past)
		f.Past = &past
	}
	return f
}

func pack(list []*Observation) *corun.Table {
	runs := make([]corun.Run, len(list))
	for i, o := range list {
		runs[i] = corun.Run{Set: o.Set, Speeds: o.Speeds, Groups: o.Groups}
	}
	return corun.Pack(runs)
}

// restore gives a regime the co-runs that it kept, and what else a refit starts from.
func (f *keptFile) restore(r *regime) (err error) {
	if r.rows, err = r.unpack(f.Fit, mostRuns); err != nil {
		return fmt.Errorf("fit: %w", err)
	}
	if r.runs, err = r.unpack(f.Observed, mostRuns+mostRuns/4); err != nil {
		return fmt.Errorf("observed: %w", err)
	}
	r.past = nil
	if f.Past != nil {
		if r.past, err = f.Past.normal(r.roster.columns()); err != nil {
			return fmt.Errorf("past: %w", err)
		}
	}
	r.clock, r.stamps = f.Clock, f.Stamps
	if err := r.check(); err != nil {
		return err
	}
	if f.Calibrated < 0 || f.Calibrated > f.Count || len(r.runs) > f.Count {
		return fmt.Errorf("%d co-runs kept of %d, calibrated at %d", len(r.runs), f.Count, f.Calibrated)
	}
	r.whole, r.observed, r.calibrated = f.Whole, f.Count, f.Calibrated
	return nil
}

// unpack checks co-runs as Observe does.
func (r *regime) unpack(t *corun.Table, most int) ([]*Observation, error) {
	if t == nil {
		return nil, nil
	}
	if len(t.Runs) > most {
		return nil, fmt.Errorf("%d co-runs, want at most %d", len(t.Runs), most)
	}
	runs, err := t.Unpack()
	if err != nil {
		return nil, err
	}
	var list []*Observation
	for i := range runs {
		o := &Observation{r.gpu, r.mechanism, runs[i].Set, runs[i].Speeds, runs[i].Groups}
		if err := checkObservation(o); err != nil {
			return nil, fmt.Errorf("co-run %d: %w", i, err)
		}
		list = append(list, o)
	}
	return list, nil
}
