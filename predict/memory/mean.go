package memory

import (
	"math"
	"slices"

	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/predict/internal/trees"
)

// row is an observation ready for fitting.
type row struct {
	task     task
	peak     float64 // bytes
	context  float64 // measured on the row's host; NaN is unknown
	host     string  // whose context is not measured
	censored bool
	group    int
	// architecture is what the task is known by.
	architecture string
}

// Sizes of the two tree ensembles. Many shallow trees on half of the columns
// each scored best in group-wise cross-validation; see docs/adr.
const (
	residualBags   = 2
	residualRounds = 150
	spreadBags     = 2
	// leastForTrees is the number of rows below which no residual is fitted.
	leastForTrees = 200
)

// fitMean fits coefficients and residual.
func fitMean(rows []row, allowed []bool, seed uint64) (*part, error) {
	p := &part{}
	off, err := p.fitTerms(rows, allowed)
	if err != nil {
		return nil, err
	}
	if len(rows) < leastForTrees {
		return p, nil
	}
	var x [][]float64
	var y []float64
	for i := range rows {
		if !rows[i].censored {
			mean := rows[i].task.x
			clear(mean[rows[i].task.used:]) // the others are for the spread
			x = append(x, mean[:])
			y = append(y, math.Log(rows[i].peak/p.total(&rows[i], false)))
		}
	}
	o := trees.Options{
		Rounds: residualRounds, Depth: 4, Rate: 0.08, MinLeaf: 5, Huber: max(0.005, 1.5*off), Penalty: 2,
		RowShare: 0.7, ColumnShare: 0.5, Monotone: rows[0].task.monotone(),
	}
	bags := make([]*trees.Ensemble, residualBags)
	for b := range bags {
		o.Seed = seed + uint64(b)
		bags[b] = trees.Fit(x, y, nil, o)
	}
	p.Residual = trees.Mean(bags)
	return p, nil
}

// total is the predicted peak of a training row on its own host.
func (p *part) total(r *row, stranger bool) float64 {
	at := p.at(&r.task, stranger)
	if math.IsNaN(r.context) {
		return at.context + at.rest
	}
	return r.context + at.rest
}

// fitTerms sets the coefficients by non-negative least squares on relative
// errors, reweighted so that a few wild rows do not decide (an approximation of
// least absolute relative error). A censored row counts only while it is
// predicted below what was seen. It returns the median relative error.
func (p *part) fitTerms(rows []row, allowed []bool) (float64, error) {
	n := rows[0].task.n
	x := make([][]float64, len(rows))
	y := make([]float64, len(rows))
	w := make([]float64, len(rows))
	for i := range rows {
		r := &rows[i]
		x[i] = make([]float64, n)
		for j := range n {
			if allowed[j] {
				x[i][j] = r.task.terms[j]
			}
		}
		y[i] = r.peak - r.task.fixed
		if !math.IsNaN(r.context) {
			x[i][termContext], y[i] = 0, y[i]-r.context
		}
		w[i] = 1 / (r.peak * r.peak)
		if r.censored {
			w[i] = 0
		}
	}
	var off float64
	for range 12 {
		coef, err := lsq.NNLS(x, y, w)
		if err != nil {
			return 0, err
		}
		p.Coef = coef
		off = reweight(rows, x, y, coef, w)
	}
	for j := range p.Coef {
		p.Coef[j] = num.Round(p.Coef[j], 6) // few enough that no machine rounds another way
	}
	return num.Round(off, 3), nil
}

// reweight sets each row's weight from its relative error and returns the
// median of these errors.
func reweight(rows []row, x [][]float64, y, coef, w []float64) float64 {
	errs := make([]float64, 0, len(rows))
	rel := make([]float64, len(rows))
	for i := range rows {
		rel[i] = (y[i] - num.Dot(coef, x[i])) / rows[i].peak
		if !rows[i].censored {
			errs = append(errs, math.Abs(rel[i]))
		}
	}
	slices.Sort(errs)
	off := 0.0
	if len(errs) > 0 {
		off = errs[len(errs)/2]
	}
	scale := max(off, 0.002)
	for i := range rows {
		w[i] = 1 / (rows[i].peak * rows[i].peak) / math.Sqrt(1+float64(rel[i]/scale)*(rel[i]/scale))
		if rows[i].censored && rel[i] < 0 {
			w[i] = 0
		}
	}
	return off
}

// bounds stores the range of each feature.
func (p *part) bounds(rows []row) {
	x := make([][]float64, len(rows))
	for i := range rows {
		x[i] = rows[i].task.x[:rows[0].task.used]
	}
	p.Lo, p.Hi = num.Ranges(x)
}
