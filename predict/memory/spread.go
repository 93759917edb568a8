package memory

import (
	"math"
	"slices"

	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/folds"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/predict/internal/trees"
)

// calibrate fits the spread to the errors of rows left out and stores the
// scores, each under a spread that was fitted without the row.
func (p *part) calibrate(rows []row, left []float64, fold []int, seed uint64) {
	var size []float64
	var seen []int
	for i := range rows {
		if !rows[i].censored {
			seen = append(seen, i)
			size = append(size, math.Abs(left[i]))
		}
	}
	sorted := slices.Clone(size)
	slices.Sort(sorted)
	p.Flat = num.Round9(max(1e-4, sorted[len(sorted)/2]))
	if len(seen) < leastForTrees {
		scores := make([]float64, 0, len(seen))
		for _, i := range seen {
			scores = append(scores, num.Round9(left[i]/p.Flat))
		}
		p.Scores = conformal.New(scores)
		return
	}
	p.chooseSpread(rows, left, seen, fold, seed)
}

// chooseSpread fits the size of the errors in two ways and keeps the one, or
// none, whose reservations at 1 % risk waste least on rows that were left out.
// Where errors are a matter of chance, as for operators with erratic
// workspaces, a modelled spread only adds noise.
func (p *part) chooseSpread(rows []row, left []float64, seen, fold []int, seed uint64) {
	least := math.Inf(1)
	for _, form := range []spreadForm{flatSpread, rootSpread, logSpread} {
		q := part{Flat: p.Flat, Form: form, Groups: p.Groups}
		size := make([]float64, len(rows))
		for k := range folds.Count {
			q.fitSpread(rows, left, folds.Where(seen, func(i int) bool { return fold[i] != k }), seed)
			for _, i := range seen {
				if fold[i] == k {
					size[i] = q.spread(&rows[i].task)
				}
			}
		}
		scores := make([]float64, len(seen))
		for k, i := range seen {
			scores[k] = num.Round9(left[i] / size[i])
		}
		q.Scores = conformal.New(scores)
		upper, waste := q.Scores.Upper(0.01), 0.0
		for _, i := range seen {
			waste += math.Exp(min(10, upper*size[i]) - left[i])
		}
		if waste < least*(1-1e-9) {
			least = waste
			q.fitSpread(rows, left, seen, seed)
			p.Form, p.Spread, p.Scores = q.Form, q.Spread, q.Scores
		}
	}
}

// fitSpread fits the size of the errors of the rows at the given places.
func (p *part) fitSpread(rows []row, left []float64, at []int, seed uint64) {
	if p.Form == flatSpread {
		return
	}
	x := make([][]float64, len(at))
	y := make([]float64, len(at))
	for k, i := range at {
		x[k] = rows[i].task.x[:]
		if y[k] = math.Sqrt(math.Abs(left[i])); p.Form == logSpread {
			y[k] = math.Log(math.Abs(left[i]) + 0.3*p.Flat)
		}
	}
	o := trees.Options{
		Rounds: 60, Depth: 3, Rate: 0.08, MinLeaf: 20, Penalty: 10, RowShare: 0.7, ColumnShare: 0.5, Seed: seed + 100,
	}
	if p.Groups >= manyGroups { // what is learned of a group must hold for others
		o.MinLeaf, o.Penalty = 50, 300
	}
	bags := make([]*trees.Ensemble, spreadBags)
	for b := range bags {
		bags[b] = trees.Fit(x, y, nil, o)
		o.Seed++
	}
	p.Spread = trees.Mean(bags)
}

// leftOut returns log(seen/predicted) of every row by a fit without its fold, one
// of count, predicted as a stranger to that fit or not.
func leftOut(rows []row, fold []int, count int, stranger bool, allowed []bool, seed uint64) ([]float64, error) {
	left := make([]float64, len(rows))
	for k := range count {
		train, test := splitRows(rows, fold, k)
		if len(train) == 0 || len(test) == 0 {
			continue
		}
		q, err := fitMean(folds.Pick(rows, train), allowed, seed)
		if err != nil {
			return nil, err
		}
		for _, i := range test {
			left[i] = math.Log(rows[i].peak / q.total(&rows[i], stranger))
		}
	}
	return left, nil
}

// rareStrangers are the shares of new architectures whose tasks may need more, more
// often than the risk, from the safest.
//
//nolint:gochecknoglobals // a list of constants
var rareStrangers = [...]float64{0.01, 0.02, 0.05, 0.1}

const (
	// mostCaution is what a reservation at 1 % risk may waste, on average and as a
	// share of the peak, so that it holds for a rarer stranger.
	mostCaution = 0.4
	// strangerScores is how many risks, evenly spaced, scores of strangers are kept
	// for: that at risk k/100 is the k-th from above.
	strangerScores = 99
)

// allowForStrangers sets the scores of tasks whose architecture the data lack: for
// every risk what the errors on architectures that were left out promise, each of
// them counting once. They are few, so that the promise rests on the shape of a
// tail; see [conformal.UpperOfGroups]. It holds in all but 1 % of new architectures
// where that wastes little, and in all but 10 % at any price.
func (p *part) allowForStrangers(rows []row, allowed []bool, seed uint64) error {
	groups := groupsOf(rows)
	count := slices.Max(groups) + 1
	left, err := leftOut(rows, groups, count, true, allowed, seed)
	if err != nil {
		return err
	}
	above, below, size := make([][]float64, count), make([][]float64, count), make([]float64, len(rows))
	for i := range rows {
		if g := rows[i].group; !rows[i].censored {
			size[i] = p.spreadFor(&rows[i].task, true)
			above[g], below[g] = append(above[g], left[i]/size[i]), append(below[g], -left[i]/size[i])
		}
	}
	for _, rare := range rareStrangers {
		upper := conformal.UpperOfGroups(above, 0.01, rare)
		var wasted, n float64
		for i := range rows {
			if !rows[i].censored {
				wasted += math.Exp(min(10, upper*size[i])-left[i]) - 1
				n++
			}
		}
		if wasted <= mostCaution*n || rare == rareStrangers[len(rareStrangers)-1] {
			p.Strange = strangersScores(above, below, rare)
			break
		}
	}
	return nil
}

func strangersScores(above, below [][]float64, rare float64) conformal.Bounds {
	scores := make([]float64, strangerScores)
	lower, upper := math.Inf(-1), math.Inf(1)
	for i := range strangerScores/2 + 1 { // what holds at a smaller risk holds at a larger one
		risk := float64(i+1) / (strangerScores + 1)
		lower = max(lower, -conformal.UpperOfGroups(below, risk, rare))
		upper = min(upper, conformal.UpperOfGroups(above, risk, rare))
		scores[i], scores[strangerScores-1-i] = num.Round(min(lower, upper), 4), num.Round(upper, 4)
	}
	return conformal.New(scores)
}

func splitRows(rows []row, fold []int, k int) (train, test []int) {
	for i := range rows {
		if fold[i] == k {
			test = append(test, i)
		} else {
			train = append(train, i)
		}
	}
	return train, test
}
