package profiler

import (
	"math/rand/v2"
	"testing"
)

// TestUnion compares the union of many overlapping times with counting every
// nanosecond.
func TestUnion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var spans []span
		var covered [1000]bool
		window := span{100, 900}
		for range rng.IntN(60) {
			s := span{start: rng.Int64N(1000)}
			s.end = s.start + rng.Int64N(60)
			spans = append(spans, s)
			for i := max(s.start, window.start); i < min(s.end, window.end); i++ {
				covered[i] = true
			}
		}
		want := int64(0)
		for _, c := range covered {
			if c {
				want++
			}
		}
		if got := union(spans, window); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
	}
}
