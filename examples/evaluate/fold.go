package main

import (
	"math/rand/v2"
	"slices"
)

// Sizes of the cross-validation.
const (
	rowFolds    = 5
	familyLimit = 8
	foldSeed    = 20240229
)

// count returns 0, 1, ..., n−1.
func count(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// randomFolds deals n rows to five folds; the same n gives the same folds.
func randomFolds(n int) []fold {
	to := make([]int, n)
	for i, at := range rand.New(rand.NewPCG(foldSeed, 1)).Perm(n) {
		to[at] = i % rowFolds
	}
	return foldsOf(to, min(n, rowFolds))
}

// familyFolds leaves one family out at a time, or, where there are more than
// familyLimit, whole families in familyLimit folds of nearly equal size.
func familyFolds(t table) []fold {
	size := make(map[string]int)
	for i := range t.size() {
		size[t.family(i)]++
	}
	names := make([]string, 0, len(size))
	for name := range size {
		names = append(names, name)
	}
	slices.Sort(names)
	slices.SortStableFunc(names, func(a, b string) int { return size[b] - size[a] })
	load := make([]int, min(len(names), familyLimit))
	at := make(map[string]int, len(names))
	for _, name := range names {
		k := slices.Index(load, slices.Min(load))
		at[name] = k
		load[k] += size[name]
	}
	to := make([]int, t.size())
	for i := range to {
		to[i] = at[t.family(i)]
	}
	return foldsOf(to, len(load))
}

// foldsOf turns a fold number for each row into folds.
func foldsOf(to []int, k int) []fold {
	folds := make([]fold, k)
	for i, at := range to {
		for f := range folds {
			if f == at {
				folds[f].test = append(folds[f].test, i)
			} else {
				folds[f].train = append(folds[f].train, i)
			}
		}
	}
	return folds
}
