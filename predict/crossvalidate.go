package predict

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"example.com/colloc/predict/internal/num"
)

// A Fold is one fit of a cross-validation: the rows to fit on and those to score,
// both rising.
type Fold struct{ Train, Test []int }

// RowFolds deals n rows to k folds of nearly equal size in an order that depends
// on seed alone. It answers how good a model is for tasks like those it has seen.
// k below 1 counts as 1, above n as n; a single fold has nothing to fit on. O(n k).
func RowFolds(n, k int, seed uint64) []Fold {
	n = max(0, n)
	k = min(max(1, k), n)
	to := make([]int, n)
	for i, at := range rand.New(rand.NewPCG(seed, 1)).Perm(n) {
		to[at] = i % k
	}
	return foldsWhere(n, k, func(row, f int) bool { return to[row] == f })
}

// GroupFolds leaves whole groups out: families of models, GPUs. groups holds, per
// row, what the row belongs to; a pair of tasks belongs to two families. A fold
// scores every row that belongs to a group it leaves out, and fits on the rows
// that belong to none of them. There is one fold for each group, in order of
// name; with a limit above 0 there are at most so many folds, and groups are dealt
// to them by size, the largest first.
//
// It answers how good a model is for families, or GPUs, that it has never seen.
// O(rows × folds).
func GroupFolds(groups [][]string, limit int) []Fold {
	size := make(map[string]int)
	var names []string
	for _, row := range groups {
		for _, name := range row {
			if size[name] == 0 {
				names = append(names, name)
			}
			size[name]++
		}
	}
	slices.Sort(names)
	k := len(names)
	if limit > 0 && k > limit {
		k = limit
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(size[b], size[a]) })
	}
	to, load := make(map[string]int), make([]int, k)
	for i, name := range names {
		f := i
		if k < len(names) {
			f = slices.Index(load, slices.Min(load))
		}
		to[name] = f
		load[f] += size[name]
	}
	return foldsWhere(len(groups), k, func(row, f int) bool {
		return slices.ContainsFunc(groups[row], func(name string) bool { return to[name] == f })
	})
}

func foldsWhere(n, k int, out func(row, fold int) bool) []Fold {
	folds := make([]Fold, k)
	for f := range folds {
		for row := range n {
			if out(row, f) {
				folds[f].Test = append(folds[f].Test, row)
			} else {
				folds[f].Train = append(folds[f].Train, row)
			}
		}
	}
	return folds
}

// An Outcome is one prediction and what came true.
type Outcome struct {
	// Seen was measured, Predicted was said without knowing it.
	Seen, Predicted float64
	// Upper is the bound that was promised; NaN where there is none.
	Upper float64
}

// CrossValidate scores a model on rows that it was not fitted on. For each fold,
// fit gets the rows to fit on and returns a function that appends the outcomes of
// one row, none for a row that has no target. A fold without rows to fit on or to
// score is left out and told in Report.Warnings. Bounds count only if every
// outcome has one.
//
// It returns the first error of fit or of a prediction, with the fold.
func CrossValidate(folds []Fold, fit func(train []int) (func(row int, dst []Outcome) ([]Outcome, error), error)) (Report, error) {
	var all []Outcome
	var warnings []error
	for f, fold := range folds {
		if len(fold.Train) == 0 || len(fold.Test) == 0 {
			warnings = append(warnings, fmt.Errorf("predict: cross-validate: fold %d: %d rows to fit on, %d to score: left out", f, len(fold.Train), len(fold.Test)))
			continue
		}
		outcomes, err := fit(fold.Train)
		if err != nil {
			return Report{}, fmt.Errorf("predict: cross-validate: fold %d: %w", f, err)
		}
		for _, row := range fold.Test {
			if all, err = outcomes(row, all); err != nil {
				return Report{}, fmt.Errorf("predict: cross-validate: fold %d: row %d: %w", f, row, err)
			}
		}
	}
	seen, predicted, upper := make([]float64, len(all)), make([]float64, len(all)), make([]float64, len(all))
	bounded := true
	for i, o := range all {
		seen[i], predicted[i], upper[i] = o.Seen, o.Predicted, o.Upper
		bounded = bounded && num.Finite(o.Upper)
	}
	if !bounded {
		upper = nil
	}
	r, err := Score(seen, predicted, upper)
	r.Warnings = append(warnings, r.Warnings...)
	return r, err
}
