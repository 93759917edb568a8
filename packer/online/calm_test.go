package online

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestArrivals: the gap between two is the mean of all where there were few, and of more the later ones count for more,
// an eighth the last; nobody seems to come any more once five gaps have passed, and never after one alone.
func TestArrivals(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 3))
	for range 200 {
		var a arrivals
		var gaps, weights []float64
		last := time.Duration(0)
		for n := range 1 + rng.IntN(30) {
			at := last + time.Duration(rng.ExpFloat64()*float64(time.Hour))
			if rng.IntN(8) == 0 { // told late
				at = last - time.Minute
			}
			a.note(at)
			if n > 0 {
				share := 1 / float64(min(n, 8))
				for i := range weights {
					weights[i] *= 1 - share
				}
				gaps, weights = append(gaps, float64(max(0, at-last))), append(weights, share)
			}
			last = max(last, at)
			mean := 0.0
			for i, gap := range gaps {
				mean += gap * weights[i]
			}
			const near = time.Microsecond
			after := last + time.Duration(5*mean)
			if a.calm(after-near) || a.calm(after+near) != (n > 0) {
				t.Fatalf("%d came, %v apart: calm %v and %v about %v after the last", n+1, time.Duration(mean), a.calm(after-near), a.calm(after+near), after-last)
			}
		}
	}
}
