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
