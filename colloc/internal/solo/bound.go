package solo

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

// Saw takes in what a run was seen to use: it counts as one once it is over, as one that failed may have been about to use more.
func (p Peaks) Saw(peak profile.Bytes, over bool) Peaks {
	if peak <= 0 {
		return p
	}
	if p.Most = max(p.Most, peak); !over {
		return p
	}
	x := math.Log(float64(peak))
	d := x - p.Mean
	p.N++
	p.Mean += d / float64(p.N)
	p.Squares += float64(d * (x - p.Mean))
	return p
}

// weight is how many runs would have shown what is believed of a kind before one was seen.
const weight = 2

// Bound is what the next run stays below in nineteen of twenty kinds: the upper end of Student's prediction
// interval of the logarithms, and no less than was seen. The fewer runs were seen, and the more they differ, the
// further it is from the largest. usual is by what share runs of a kind are believed to differ before they are seen.
func (p Peaks) Bound(usual float64) profile.Bytes {
	if p.N == 0 { // the first goes on
		p = p.Saw(p.Most, true)
	}
	if p.N == 0 {
		return 0
	}
	n, freedom := float64(p.N), weight+p.N-1
	spread := math.Sqrt((weight*usual*usual + p.Squares) / float64(freedom))
	return max(p.Most, profile.BytesOf(math.Exp(p.Mean+student(freedom)*spread*math.Sqrt(1+1/n))))
}

// Bounded lets a kind be known by what its next run may use. known is not changed, and stays where that is no news by more than
// the margin that is reserved anyway, a share. most is what the largest GPU offers: no bound shuts a kind out that was not seen to
// use more.
func (p Peaks) Bounded(known *profile.Profile, usual, margin float64, most profile.Bytes) *profile.Profile {
	bound := p.Bound(usual)
	if most > 0 { // else nobody knows
		bound = max(p.Most, min(bound, profile.BytesOf(float64(most)/(1+margin))-profile.MiB)) // roundings are smaller
	}
	was, next := known.Vector.Or(profile.PeakMemory, 0), float64(bound)
	if math.Abs(next-was) <= was*margin {
		return known
	}
	bounded := *known
	if bounded.Vector.Set(profile.PeakMemory, next) != nil {
		return known
	}
	return &bounded
}

// student is the 95th percentile of Student's distribution with so many degrees of freedom, 2 at least.
func student(freedom int) float64 {
	table := [...]float64{2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812}
	if i := freedom - 2; i < len(table) {
		return table[i]
	}
	return 1.645 + 1.6/float64(freedom)
}
