package predict

import (
	"errors"
	"fmt"
	"math"

	"example.com/colloc/profile"
)

// FitInterference fits one set of parameters per (GPU, mechanism) that occurs in
// obs, and the prior for all others. A nil o means the defaults. It returns an
// error that names the observation for sets and speeds of unequal length, for
// a mechanism that shares nothing, and for a speed that is not a number in
// (0, 4]. Without any observation the result answers by the prior.
//
// Slopes of physical terms are held at 0 or more; interval widths come from
// predictions of tasks that were left out, separately for known types, new types
// of known models, and new models. The same obs give the same model.
// O(n p² + p³) with n speeds and p = 9 + 2 types columns, times the 15 refits of
// the calibration: about a second for a thousand pairs.
func FitInterference(obs []SpeedObservation, o *InterferenceOptions) (*Interference, error) {
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
		if err := r.calibrate(g.obs, options); err != nil {
			return nil, fmt.Errorf("predict: interference: %s under %v: calibration: %w", g.gpu, g.mechanism, err)
		}
		regimes = append(regimes, r)
	}
	m := &Interference{}
	m.state.Store(newState(options, regimes))
	return m, nil
}

func checkObservation(o *SpeedObservation) error {
	if len(o.Speeds) != len(o.Set) || (o.Groups != nil && len(o.Groups) != len(o.Set)) {
		return fmt.Errorf("%d tasks, %d speeds, %d groups: want as many of each", len(o.Set), len(o.Speeds), len(o.Groups))
	}
	if o.Mechanism != profile.TimeSlice && o.Mechanism != profile.MPS {
		return fmt.Errorf("%v: %w", o.Mechanism, ErrMechanism)
	}
	if o.GPU == "" {
		return errors.New("the GPU has no name; set it to the product as NVML prints it")
	}
	if len(o.Set) > 1<<10 {
		return fmt.Errorf("%d tasks on one GPU, want at most 1024", len(o.Set))
	}
	for i, s := range o.Speeds {
		v, ok := s.Get()
		if ok && !(v > 0 && v <= MostSpeed) {
			return fmt.Errorf("task %d: speed is %v, want more than 0 and at most %v", i, v, MostSpeed)
		}
	}
	return nil
}

type regimeObservations struct {
	regimeKey
	obs []*SpeedObservation
}

// groupByRegime keeps the order of first appearance.
func groupByRegime(obs []SpeedObservation) []regimeObservations {
	var out []regimeObservations
	at := make(map[regimeKey]int)
	for i := range obs {
		k := regimeKey{catalogueName(obs[i].GPU), obs[i].Mechanism}
		j, ok := at[k]
		if !ok {
			j = len(out)
			at[k] = j
			out = append(out, regimeObservations{regimeKey: k})
		}
		out[j].obs = append(out[j].obs, &obs[i])
	}
	return out
}

// catalogueName is the canonical name of a product of which no more is known.
func catalogueName(name string) string { return (&profile.GPUModel{Name: name}).Canonical() }

// fitRow is one measured speed on its way into the normal equations.
type fitRow struct {
	x      sparse
	loss   float64
	weight float64
	tree   [treeColumns]float64
	pair   bool // one neighbour, no stranger: the trees may learn from it
}

// rows turns observations into rows for the roster.
func (r *regime) rows(obs []*SpeedObservation) []fitRow {
	var out []fitRow
	for _, o := range obs {
		set := r.members(o.Set)
		for i, s := range o.Speeds {
			v, ok := s.Get()
			if !ok || len(set) < 2 {
				continue
			}
			row := fitRow{loss: lossOf(v)}
			row.weight = lossSlope(row.loss) * lossSlope(row.loss)
			fillRow(&row.x, set, i)
			if row.pair = len(set) == 2 && !plainPair(&set[0], &set[1]); row.pair {
				row.tree = treeRow(&set[i], &set[1-i])
			}
			out = append(out, row)
		}
	}
	return out
}

func (r *regime) members(set []*profile.Profile) []member {
	out := make([]member, len(set))
	for i, p := range set {
		out[i] = r.roster.member(p)
	}
	return out
}

// fitRegime solves the ridge, boosts trees on what it leaves over and solves
// again for the losses less the trees.
func fitRegime(key regimeKey, obs []*SpeedObservation, o InterferenceOptions) (*regime, error) {
	r := &regime{regimeKey: key, roster: &roster{}, learned: &normal{}, spread: priorSpread()}
	for _, ob := range obs {
		for _, p := range ob.Set {
			if t, ok := typeOf(p); ok {
				r.roster = r.roster.with(t, true)
			}
		}
	}
	r.lambda, r.mu = r.roster.precisions(), make([]float64, r.roster.columns())
	r.mu[termColumns+sameModel] = sameModelSlope
	rows := r.rows(obs)
	r.accumulate(rows)
	var err error
	if r.post, err = solve(r.lambda, r.mu, slopes(), r.base); err != nil {
		return nil, err
	}
	if o.NoTrees || len(rows) < 100 {
		return r, nil
	}
	r.roster.keepTraits(r.post.coef)
	rows = r.rows(obs)
	r.boost(rows, o.Seed)
	r.accumulate(rows)
	r.post, err = solve(r.lambda, r.mu, slopes(), r.base)
	return r, err
}

// accumulate sums the rows, the trees' part taken out of each loss.
func (r *regime) accumulate(rows []fitRow) {
	r.base = &normal{}
	r.base.grow(r.roster.columns())
	for i := range rows {
		row := &rows[i]
		y := row.loss
		if r.trees != nil && row.pair {
			y -= r.trees.predict(row.tree[:])
		}
		r.base.addRow(&row.x, y, row.weight)
	}
	// Nine digits: files are short, and a file gives the same model.
	for k, v := range r.base.h {
		r.base.h[k] = round9(v)
	}
	for k, v := range r.base.g {
		r.base.g[k] = round9(v)
	}
	r.base.n = round9(r.base.n)
}

// pairBags is the number of tree ensembles that are averaged: what one draw of
// rows and columns makes up, the others do not.
const pairBags = 3

// boost fits the trees to what the linear part leaves over.
func (r *regime) boost(rows []fitRow, seed uint64) {
	var x [][]float64
	var y, w []float64
	for i := range rows {
		if row := &rows[i]; row.pair {
			x = append(x, row.tree[:])
			y = append(y, row.loss-row.x.dot(r.post.coef))
			w = append(w, row.weight)
		}
	}
	if len(x) == 0 {
		return
	}
	bags := make([]*trees, pairBags)
	for b := range bags {
		bags[b] = fitTrees(x, y, w, treeOptions{
			Rounds: 50, Depth: 6, Rate: 0.2, MinLeaf: 10, Penalty: 1, RowShare: 0.8, ColumnShare: 0.8,
			Monotone: treeMonotone(), Seed: seed + uint64(b),
		})
	}
	r.trees = meanOf(bags)
	r.memo = &treeMemo{}
}

// standardError is the error of one left-out speed, in loss, with what the
// model knew about it.
type standardError struct {
	level    int
	error    float64 // seen − predicted
	variance float64
}

// errorsOn predicts observations that the regime was not fitted on.
func (r *regime) errorsOn(obs []*SpeedObservation) []standardError {
	var out []standardError
	var x sparse
	for _, o := range obs {
		set := r.members(o.Set)
		for i, s := range o.Speeds {
			v, ok := s.Get()
			if !ok || len(set) < 2 {
				continue
			}
			fillRow(&x, set, i)
			out = append(out, standardError{familiarity(set, i), lossOf(v) - r.loss(set, i, true), r.post.variance(&x)})
		}
	}
	return out
}

// noise returns the root mean square of errors, each less its model variance.
func noise(errs []standardError) float64 {
	var sum float64
	for _, e := range errs {
		sum += e.error * e.error / (1 + e.variance)
	}
	return math.Sqrt(sum / float64(max(1, len(errs))))
}
