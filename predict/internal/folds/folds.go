package folds

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
)

// Count is the number of folds that a calibration leaves out in turn.
const Count = 5

// Deal deals n rows to k folds of nearly equal size in an order that depends on
// seed alone.
func Deal(n, k int, seed uint64) []int {
	fold := make([]int, n)
	for i, at := range rand.New(rand.NewPCG(seed, 0x666f6c64)).Perm(n) {
		fold[at] = i % k
	}
	return fold
}

// DealGroups deals whole groups to k folds, the largest first, each to the fold
// with the fewest rows so far.
func DealGroups(group []int, k int) []int {
	count := make(map[int]int)
	for _, g := range group {
		count[g]++
	}
	order := slices.Collect(maps.Keys(count))
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	load := make([]int, k)
	to := make(map[int]int, len(order))
	for _, g := range order {
		at := slices.Index(load, slices.Min(load))
		to[g] = at
		load[at] += count[g]
	}
	fold := make([]int, len(group))
	for i, g := range group {
		fold[i] = to[g]
	}
	return fold
}

// Pick returns the entries at the given places.
func Pick[T any](from []T, at []int) []T {
	out := make([]T, len(at))
	for i, j := range at {
		out[i] = from[j]
	}
	return out
}

// Where returns the places that are kept.
func Where(at []int, keep func(int) bool) []int {
	var out []int
	for _, i := range at {
		if keep(i) {
			out = append(out, i)
		}
	}
	return out
}
