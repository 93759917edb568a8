package num

import (
	"fmt"
	"math"
	"slices"
)

// Distance is how far x is from the middle of the ranges, in half ranges:
// the largest over the columns, at most 10.
func Distance(x, lo, hi []float64) float64 {
	const far = 10
	var worst float64
	for j := range lo {
		half := (hi[j] - lo[j]) / 2
		off := math.Abs(x[j] - (lo[j] + half))
		switch {
		case half > 0:
			worst = max(worst, min(far, off/half))
		case off > 0:
			worst = max(worst, 2)
		}
	}
	return worst
}

// Ranges returns the least and largest value of each column.
func Ranges(x [][]float64) (lo, hi []float64) {
	lo, hi = slices.Clone(x[0]), slices.Clone(x[0])
	for _, row := range x {
		for j, v := range row {
			lo[j], hi[j] = min(lo[j], v), max(hi[j], v)
		}
	}
	for j := range lo {
		lo[j], hi[j] = Round9(lo[j]), Round9(hi[j])
	}
	return lo, hi
}

// CheckRanges refuses ranges, of at most so many columns, that are none.
func CheckRanges(lo, hi []float64, most int) error {
	if len(lo) != len(hi) || len(lo) > most {
		return fmt.Errorf("%d lower and %d upper feature bounds", len(lo), len(hi))
	}
	for j := range lo {
		if !Finite(lo[j]) || !Finite(hi[j]) || lo[j] > hi[j] {
			return fmt.Errorf("feature %d has range %v to %v", j, lo[j], hi[j])
		}
	}
	return nil
}
