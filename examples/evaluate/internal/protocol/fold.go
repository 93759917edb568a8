package protocol

import (
	"example.com/colloc/predict"
)

// Sizes of the cross-validation.
const (
	rowFolds = 5
	// FamilyLimit is how many folds of whole families there are at most.
	FamilyLimit = 8
	// Seed is that of every draw of the evaluation; its streams tell them apart.
	Seed = 20240229
)

// Fold is one fit: row numbers in the training table and in the scored one.
type Fold = predict.Fold

// RandomFolds deals n rows to five folds; the same n gives the same folds.
func RandomFolds(n int) []Fold { return predict.RowFolds(n, rowFolds, Seed) }
