package predict

import "math/rand/v2"

// dealRows deals n rows to k folds of nearly equal size in an order that
// depends on seed alone.
func dealRows(n, k int, seed uint64) []int {
	fold := make([]int, n)
	for i, at := range rand.New(rand.NewPCG(seed, 0x666f6c64)).Perm(n) {
		fold[at] = i % k
	}
	return fold
}
