package main

import (
	"example.com/colloc/predict"
)

// Sizes of the cross-validation.
const (
	rowFolds    = 5
	familyLimit = 8
	foldSeed    = 20240229
)

// fold is one fit: row numbers in the training table and in the scored one.
type fold = predict.Fold

// count returns 0, 1, ..., n−1.
func count(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// randomFolds deals n rows to five folds; the same n gives the same folds.
func randomFolds(n int) []fold { return predict.RowFolds(n, rowFolds, foldSeed) }

// familyFolds leaves one family out at a time, or, where there are more than
// familyLimit, whole families in familyLimit folds of nearly equal size.
func familyFolds(t table) []fold {
	families := make([][]string, t.size())
	for i := range families {
		families[i] = []string{t.family(i)}
	}
	return predict.GroupFolds(families, familyLimit)
}

// coverage counts, for each fold and GPU, how many of its rows kept a promise:
// rows of one family err together, so that the worst tells what the mean hides.
type coverage map[foldOf]*kept

type foldOf struct {
	fold int
	gpu  string
}

type kept struct{ rows, inside float64 }

func (c coverage) add(fold int, gpu string, inside bool) {
	key := foldOf{fold, gpu}
	if c[key] == nil {
		c[key] = &kept{}
	}
	c[key].rows++
	if inside {
		c[key].inside++
	}
}

// worst is the least share of a fold on one GPU, 0 where nothing was counted.
func (c coverage) worst() float64 {
	if len(c) == 0 {
		return 0
	}
	least := 1.0
	for _, k := range c {
		least = min(least, k.inside/k.rows)
	}
	return least
}

// groups is the number of folds with rows.
func (c coverage) groups() int {
	folds := make(map[int]bool)
	for key := range c {
		folds[key.fold] = true
	}
	return len(folds)
}

// judged is one decision: what a model said, in which fold, and what was right.
type judged struct {
	fold  int
	said  float64
	right bool
}

// thresholds are tried to either side of the plain one, so far apart.
const (
	thresholds    = 6
	thresholdStep = 0.01
)

// plainAndNested are the shares of right decisions by the plain threshold, and when
// each fold is judged by the threshold that does best on the other folds, the one
// nearest to the plain one of equals: what a threshold chosen on data is worth where it
// was not chosen. With one fold both are the same.
func plainAndNested(all []judged, plain float64) (byPlain, byNested float64) {
	hits := make(map[int][2*thresholds + 1]float64) // by fold
	var sum [2*thresholds + 1]float64
	for _, d := range all {
		of := hits[d.fold]
		for k := range of {
			if (d.said >= plain+thresholdStep*float64(k-thresholds)) == d.right {
				of[k]++
				sum[k]++
			}
		}
		hits[d.fold] = of
	}
	for _, of := range hits {
		best := thresholds
		for away := 1; away <= thresholds && len(hits) > 1; away++ {
			for _, k := range [2]int{thresholds - away, thresholds + away} {
				if sum[k]-of[k] > sum[best]-of[best] {
					best = k
				}
			}
		}
		byNested += of[best]
	}
	n := float64(max(1, len(all)))
	return sum[thresholds] / n, byNested / n
}
