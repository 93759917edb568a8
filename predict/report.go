package predict

import (
	"fmt"
	"math"

	"example.com/colloc/predict/internal/num"
)

// Report scores predictions against what was seen.
type Report struct {
	// N is the number of pairs that were scored.
	N int `json:"n"`
	// MAE and RMSE are the mean absolute and the root mean square error, in the
	// unit of the target.
	MAE  float64 `json:"mae"`
	RMSE float64 `json:"rmse"`
	// R2 is 1 − Σ(seen−predicted)² / Σ(seen−mean)²; 0 where the targets do not
	// vary.
	R2 float64 `json:"r2"`
	// MAPE is the mean of |seen−predicted|/seen, a fraction.
	MAPE float64 `json:"mape"`
	// UnderRate is the share predicted below what was seen.
	UnderRate float64 `json:"under_rate"`
	// Coverage is the share within the upper bounds, Waste the mean of
	// bound/seen − 1; both 0 without bounds.
	Coverage float64 `json:"coverage"`
	Waste    float64 `json:"waste"`
	// Warnings say what was left out or is doubtful.
	Warnings []error `json:"-"`
}

// Score compares predictions with what was seen; upper holds an upper bound for
// each, or is nil. Pairs that are not finite are left out with a warning, and
// so is, for MAPE and Waste, a target of 0. It returns an error if the lengths
// differ. O(n).
func Score(seen, predicted, upper []float64) (Report, error) {
	if len(seen) != len(predicted) || (upper != nil && len(upper) != len(seen)) {
		return Report{}, fmt.Errorf("predict: score: %d seen, %d predicted, %d bounds: want equal", len(seen), len(predicted), len(upper))
	}
	var r Report
	var sum, squares, total, total2, ape, under, covered, waste float64
	positive := 0
	for i, y := range seen {
		p := predicted[i]
		if !num.Finite(y) || !num.Finite(p) || (upper != nil && !num.Finite(upper[i])) {
			r.Warnings = append(r.Warnings, fmt.Errorf("predict: score: pair %d is not finite and left out", i))
			continue
		}
		r.N++
		e := p - y
		sum += math.Abs(e)
		squares += e * e
		total += y
		total2 += y * y
		if p < y {
			under++
		}
		if y > 0 {
			positive++
			ape += math.Abs(e) / y
		}
		if upper != nil {
			if upper[i] >= y {
				covered++
			}
			if y > 0 {
				waste += upper[i]/y - 1
			}
		}
	}
	if r.N == 0 {
		return r, nil
	}
	n := float64(r.N)
	r.MAE, r.RMSE, r.UnderRate, r.Coverage = sum/n, math.Sqrt(squares/n), under/n, covered/n
	if vary := total2 - total*total/n; vary > 1e-12*total2 {
		r.R2 = 1 - squares/vary
	}
	if positive > 0 {
		r.MAPE, r.Waste = ape/float64(positive), waste/float64(positive)
	}
	if positive < r.N {
		r.Warnings = append(r.Warnings, fmt.Errorf("predict: score: %d targets are not positive and left out of MAPE and Waste", r.N-positive))
	}
	return r, nil
}
