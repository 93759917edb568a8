package interference

import (
	"math"
	"slices"

	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/predict/internal/trees"
	"example.com/colloc/profile"
)

// fitRow is one measured speed on its way into the normal equations.
type fitRow struct {
	x      lsq.Row
	loss   float64
	weight float64
	tree   [treeColumns]float64
	pair   bool // one neighbour: the trees may learn from it
}

// rowsOf turns observations into rows for the roster.
func (r *regime) rowsOf(obs []*Observation) []fitRow {
	var out []fitRow
	for _, o := range obs {
		set := r.members(o.Set)
		for i, s := range o.Speeds {
			v, ok := s.Get()
			if !ok || len(set) < 2 {
				continue
			}
			row := fitRow{loss: r.curve().measured(v)}
			row.weight = r.weight(row.loss, len(set)) * r.credit(o, i)
			r.fillRow(&row.x, set, i)
			if row.pair = len(set) == 2 && !serving(&set[i].load, &set[1-i].load); row.pair {
				row.tree = treeRow(&set[i], &set[1-i])
			} else {
				row.loss = r.target(&row.x, set, i, row.loss)
			}
			out = append(out, row)
		}
	}
	return out
}

// fitRegime fits from nothing but the priors of the columns.
func fitRegime(key regimeKey, obs []*Observation, o Options) (*regime, error) {
	r := &regime{regimeKey: key, roster: (&roster{}).trainedOn(obs), spread: priorSpread()}
	r.roster.fitted = int32(len(r.roster.effects))
	return r.fit(obs, o)
}

// fit solves the ridge, boosts trees on what it leaves over and solves again for the
// losses less the trees. It begins with the roster and the prior means of r, which
// stays as it is; without means with those of the columns.
func (r *regime) fit(obs []*Observation, o Options) (*regime, error) {
	next := &regime{regimeKey: r.regimeKey, roster: r.roster, learned: &lsq.Sums{}, spread: r.spread, credited: r.credited}
	r, mu := next, r.mu
	r.roster = r.roster.trainedOn(obs)
	r.lambda, r.mu = r.roster.precisions(r.mechanism), make([]float64, r.roster.columns())
	if copy(r.mu, mu) == 0 {
		r.mu[unseenColumn], r.mu[termColumns+sameModel] = unseenLoss, sameModelSlope
		if r.mechanism == profile.MPS {
			slopes := defaultSlopes(r.mechanism)
			copy(r.mu[termColumns:], slopes[:])
		}
	}
	r.post = &lsq.Posterior{Coef: r.mu}
	rows, err := r.settle(obs)
	if err != nil {
		return nil, err
	}
	r.assumeUse()
	if o.NoTrees || len(rows) < 100 {
		r.post, err = lsq.Solve(r.lambda, r.mu, slopes(), r.base)
		return r, err
	}
	coef, err := lsq.Coef(r.lambda, r.mu, slopes(), r.base)
	if err != nil {
		return nil, err
	}
	r.post = &lsq.Posterior{Coef: coef}
	r.roster.keepTraits(coef)
	rows = r.rowsOf(obs)
	r.boost(rows, coef, o.Seed)
	if onlyPairs(rows) {
		r.retarget(rows)
	} else if _, err := r.settle(obs); err != nil {
		return nil, err
	}
	r.post, err = lsq.Solve(r.lambda, r.mu, slopes(), r.base)
	return r, err
}

// assumeUse takes what use costs from the prior where no row of the fit tells: the terms
// that none of them has, so that what the rows say stays as it is.
func (r *regime) assumeUse() {
	if r.roster.blind = r.blind(); !r.roster.blind {
		return
	}
	for k, slope := range defaultSlopes(r.mechanism) {
		if !r.saw(termColumns + k) {
			r.mu[termColumns+k] = slope
		}
	}
}

// settleRounds is how often a fit asks larger sets for their slopes anew: the third
// time changes speeds by less than they are measured to.
const settleRounds = 2

// settle sums the rows of obs, those of larger sets at the slopes of what is known,
// which it improves: pairs depend on nothing that was learned.
func (r *regime) settle(obs []*Observation) (rows []fitRow, err error) {
	rows = r.rowsOf(obs)
	r.accumulate(rows)
	if onlyPairs(rows) {
		return rows, nil
	}
	for range settleRounds {
		coef, err := lsq.Coef(r.lambda, r.mu, slopes(), r.base)
		if err != nil {
			return nil, err
		}
		r.post = &lsq.Posterior{Coef: coef}
		rows = r.rowsOf(obs)
		r.accumulate(rows)
	}
	return rows, nil
}

// accumulate sums the rows, the trees' part taken out of each loss.
func (r *regime) accumulate(rows []fitRow) {
	r.base = &lsq.Sums{}
	r.base.Grow(r.roster.columns())
	for i := range rows {
		row := &rows[i]
		r.base.AddRow(&row.x, r.linear(row), row.weight)
	}
	// Nine digits: files are short, and a file gives the same model.
	for k, v := range r.base.H {
		r.base.H[k] = num.Round9(v)
	}
	for k, v := range r.base.G {
		r.base.G[k] = num.Round9(v)
	}
	r.base.N = num.Round9(r.base.N)
}

// linear is what the trees leave of a row's loss.
func (r *regime) linear(row *fitRow) float64 {
	if r.trees != nil && row.pair {
		return row.loss - r.trees.Predict(row.tree[:])
	}
	return row.loss
}

// retarget is accumulate for rows that were summed before there were trees.
func (r *regime) retarget(rows []fitRow) {
	clear(r.base.G)
	for i := range rows {
		r.base.AddTarget(&rows[i].x, r.linear(&rows[i]), rows[i].weight)
	}
	for k, v := range r.base.G {
		r.base.G[k] = num.Round9(v)
	}
}

func onlyPairs(rows []fitRow) bool {
	return !slices.ContainsFunc(rows, func(row fitRow) bool { return !row.pair })
}

// pairBags is the number of tree ensembles that are averaged: what one draw of
// rows and columns makes up, the others do not.
const pairBags = 3

// boost fits the trees to what the linear part, of coefficients coef, leaves over.
func (r *regime) boost(rows []fitRow, coef []float64, seed uint64) {
	var x [][]float64
	var y, w []float64
	for i := range rows {
		if row := &rows[i]; row.pair {
			x = append(x, row.tree[:])
			y = append(y, row.loss-row.x.Dot(coef))
			w = append(w, row.weight)
		}
	}
	if len(x) == 0 {
		return
	}
	bags := make([]*trees.Ensemble, pairBags)
	for b := range bags {
		bags[b] = trees.Fit(x, y, w, trees.Options{
			Rounds: 50, Depth: 6, Rate: 0.2, MinLeaf: 10, Penalty: 1, RowShare: 0.8, ColumnShare: 0.8,
			Monotone: treeMonotone(), Seed: seed + uint64(b),
		})
	}
	r.trees = trees.Mean(bags)
	r.memo = &treeMemo{}
}

// learn adds the speeds of one co-run to what was learned and to the solution,
// both of which must be the regime's own; risk is that of its intervals.
func (r *regime) learn(o *Observation, risk float64) {
	w := gather(r, o.Set)
	defer scratchPool.Put(w)
	w.cov = slices.Grow(w.cov[:0], len(r.lambda))[:len(r.lambda)]
	set, doubted := w.set, r.drift.doubts()
	for i, speed := range o.Speeds {
		y, ok := speed.Get()
		if !ok || len(set) < 2 {
			continue
		}
		loss, expected := r.curve().measured(y), r.loss(set, i, true)
		variance, level := r.doubt(set, i, expected, &w.row)
		off := r.curve().off(y, expected)
		r.drift.add(off, r.spread.usual(variance, level, len(set)))
		slower, faster := r.halves(variance, level, len(set))
		r.drift.adapt(off, slower, faster, risk, level)
		weight := r.weight(loss, len(set))
		if !doubted {
			weight *= r.trust(o, set, i, w)
		}
		r.fillRow(&w.row, set, i)
		target := r.target(&w.row, set, i, loss)
		r.learned.AddRow(&w.row, target, weight)
		r.post.Update(&w.row, target, weight, w.cov)
		r.updated = true
	}
}

// standardError is the error of one left-out speed, in loss, with what the
// model knew about it.
type standardError struct {
	level    int
	group    string  // family of the newcomer among the tasks
	error    float64 // seen − predicted
	variance float64
}

// errorsOn predicts observations that the regime was not fitted on.
func (r *regime) errorsOn(obs []*Observation) []standardError {
	var out []standardError
	var x lsq.Row
	for _, o := range obs {
		set := r.members(o.Set)
		for i, s := range o.Speeds {
			v, ok := s.Get()
			if !ok || len(set) < 2 {
				continue
			}
			expected := r.loss(set, i, true)
			variance, level := r.doubt(set, i, expected, &x)
			out = append(out, standardError{level, newcomersFamily(o, set, i), r.curve().off(v, expected), variance})
		}
	}
	return out
}

// newcomersFamily is that of the task itself if its type is not known, else that of the
// first neighbour whose type is not; where all are, the same of types that are not of the
// fit; "" where all are of the fit.
func newcomersFamily(o *Observation, set []member, i int) string {
	for _, is := range [2]func(m *member) bool{
		func(m *member) bool { return m.typ == noEffect },
		func(m *member) bool { return !m.fitted },
	} {
		if is(&set[i]) {
			return familyOf(o, i)
		}
		for j := range set {
			if is(&set[j]) {
				return familyOf(o, j)
			}
		}
	}
	return ""
}

// noise returns the root mean square of errors, each less its model variance.
func noise(errs []standardError) float64 {
	var sum float64
	for _, e := range errs {
		sum += e.error * e.error / (1 + e.variance)
	}
	return math.Sqrt(sum / float64(max(1, len(errs))))
}
