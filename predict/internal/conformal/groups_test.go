package conformal

import (
	"math"
	"testing"
)

// TestUpperOfGroups: one wild row does not move the bound of its group, one wild
// group moves that over groups.
func TestUpperOfGroups(t *testing.T) {
	group := func(level float64) []float64 {
		g := make([]float64, 20)
		for i := range g {
			g[i] = level * float64(i+1) / 18 // its 0.9 quantile, the 18th, is level
		}
		return g
	}
	var nine [][]float64
	for i := range 9 {
		nine = append(nine, group(float64(i+1)))
	}
	wild := group(1)
	wild[19] = 100
	for _, tt := range []struct {
		name   string
		groups [][]float64
		want   float64
	}{
		{"nine groups: the largest of their quantiles", nine, 9},
		{"a wild row", append([][]float64{wild}, nine[1:]...), 9},
		{"none", nil, 0},
		{"in any order", [][]float64{nine[8], nine[3], nine[0], nine[7], nine[1], nine[2], nine[6], nine[5], nine[4]}, 9},
		{"one that tells nothing", append([][]float64{nil, {math.NaN()}}, nine...), 9},
		{"three in another order", [][]float64{nine[2], nine[0], nine[1]}, 3 + math.Log(2.5)/math.Log(2)},
		{"three groups: the tail", nine[:3], 3 + math.Log(2.5)/math.Log(2)},
		// Quantiles 1, 2.9, 3: mean 2.3, variance 1.27; qt(0.9, 2) is 1.885618 in R 4.4.
		{"three groups: Student's t", [][]float64{group(1), group(2.9), group(3)}, 2.3 + 1.885618*math.Sqrt(1.27*4/3)},
	} {
		if got := UpperOfGroups(tt.groups, 0.1, 0.1); !(math.Abs(got-tt.want) <= 1e-5) {
			t.Errorf("%s: bound is %v, want %v", tt.name, got, tt.want)
		}
	}
}
