package fair

import (
	"cmp"
	"math"
	"slices"
)

// leastWeight is what the lightest task of a round weighs, as a fraction of the
// heaviest, so that rounding tells it from nothing; leastBits is its logarithm.
const (
	leastWeight = 1.0 / (1 << leastBits)
	leastBits   = 16
)

// Weights returns the weights of the next round, for Task.Weight of package packer: those
// of p divided by the largest, in [2^-16, 1]. A weight that is none counts as 2^-16.
//
// Where the largest is more than 2^16 times the smallest, the widest steps between
// neighbours in the order of weights are shortened: to one step c, in logarithms,
// the largest at which all weights fit. So the order stays, strictly, and so do
// the ratios of those that lie near each other:
//
//	w(1) = 1,  w(n) = w(n-1) / 2^min(c, log2(p(n-1)/p(n)))   heaviest first
//
// For a [LogPolicy] it works with logarithms, and nothing overflows.
// O(tasks · log tasks).
func Weights(p Policy, accounts []Account) []float64 {
	out := make([]float64, len(accounts))
	smallest, largest, exact := math.Inf(1), 0.0, true
	for i := range accounts {
		w := p.Weigh(&accounts[i])
		exact = exact && w > math.SmallestNonzeroFloat64 && w < math.MaxFloat64
		if w > 0 && !math.IsInf(w, 1) {
			out[i] = w
			smallest, largest = min(smallest, w), max(largest, w)
		}
	}
	logs, ok := p.(LogPolicy)
	if smallest < largest*leastWeight || ok && !exact {
		return shortened(logs, accounts, out)
	}
	for i, w := range out {
		out[i] = leastWeight
		if w > 0 {
			out[i] = w / largest
		}
	}
	return out
}

// shortened makes weights of those that lie too far apart: see [Weights]. logs may
// be nil.
func shortened(logs LogPolicy, accounts []Account, weights []float64) []float64 {
	type entry struct {
		at   int
		bits float64
	}
	var order []entry
	for i, w := range weights {
		bits := math.Log2(w)
		if logs != nil {
			bits = logs.LogWeigh(&accounts[i]) / math.Ln2
		}
		weights[i] = leastWeight
		if !math.IsNaN(bits) && !math.IsInf(bits, 0) {
			order = append(order, entry{i, bits})
		}
	}
	slices.SortFunc(order, func(a, b entry) int { return cmp.Or(cmp.Compare(b.bits, a.bits), cmp.Compare(a.at, b.at)) })
	steps := make([]float64, len(order))
	for n := 1; n < len(order); n++ {
		steps[n] = order[n-1].bits - order[n].bits
	}
	longest, down := longestStep(steps), 0.0
	for n, e := range order {
		down += min(steps[n], longest)
		weights[e.at] = max(leastWeight, math.Exp2(-down))
	}
	return weights
}

// longestStep returns c so that Σ min(step, c) is at most leastBits: +Inf if no
// step need be cut.
func longestStep(steps []float64) float64 {
	sorted := slices.Sorted(slices.Values(steps))
	left := float64(leastBits)
	for n, step := range sorted {
		if c := left / float64(len(sorted)-n); step > c {
			return c
		}
		left -= step
	}
	return math.Inf(1)
}
