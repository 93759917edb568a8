package num

import (
	"math"
	"strconv"
)

// Finite reports whether x is a number, and not an infinite one.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Dot is the inner product in index order, without fused multiply-add, so that
// every machine gives the same bits.
func Dot(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}

// Round9 keeps nine significant digits, so that files are short and the last
// bits of a sum cannot show.
func Round9(x float64) float64 { return Round(x, 9) }

// Round keeps that many significant digits, but all of a number that they would make
// infinite.
func Round(x float64, digits int) float64 {
	if x == 0 {
		return x
	}
	v, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x
	}
	return v
}

// Weight is the weight of a row; nil weighs every row 1.
func Weight(w []float64, i int) float64 {
	if w == nil {
		return 1
	}
	return w[i]
}
