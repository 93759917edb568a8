package kinds

import (
	"math"

	"example.com/colloc/profile"
)

// Peaks are the most memory that runs of a kind were seen to use, as far as a bound for the next one needs them.
type Peaks struct {
	N int `json:"n"`
	// Mean and Squares are of the logarithms: their mean, and the sum of squares around it.
	Mean    float64       `json:"mean"`
	Squares float64       `json:"squares"`
	Most    profile.Bytes `json:"most_bytes"`
}

// add takes one more run in.
func (p Peaks) add(peak profile.Bytes) Peaks {
	x := math.Log(float64(max(1, peak)))
	d := x - p.Mean
	p.N++
	p.Mean += d / float64(p.N)
	p.Squares += float64(d * (x - p.Mean))
	p.Most = max(p.Most, peak)
	return p
}

// What is believed of a kind before a run of it was seen: that runs differ by a tenth, as if two had shown it.
const (
	usual  = 0.1
	weight = 2
)

// Bound is what the next run stays below in nineteen of twenty kinds: the upper end of Student's prediction
// interval of the logarithms, and no less than was seen. The fewer runs were seen, and the more they differ, the
// further it is from the largest.
func (p Peaks) Bound() profile.Bytes {
	if p.N == 0 {
		return p.Most
	}
	n, freedom := float64(p.N), weight+p.N-1
	spread := math.Sqrt((weight*usual*usual + p.Squares) / float64(freedom))
	return max(p.Most, profile.BytesOf(math.Exp(p.Mean+student(freedom)*spread*math.Sqrt(1+1/n))))
}

// student is the 95th percentile of Student's distribution with so many degrees of freedom, 2 at least.
func student(freedom int) float64 {
	table := [...]float64{2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812}
	if i := freedom - 2; i < len(table) {
		return table[i]
	}
	return 1.645 + 1.6/float64(freedom)
}
