package solo

import (
	"testing"

	"example.com/colloc/profile"
)

// What few runs tell is a bound that knows how few they were and how they differ: two runs of 1 and 2 GiB do not
// let the next have 2.04 GiB. Of many that are alike little more is set aside than they used.
func TestBound(t *testing.T) {
	for _, tt := range []struct {
		usual  float64
		peaks  []float64 // GiB
		lo, hi float64
	}{
		{0.1, []float64{2}, 2.8, 3.2},
		{0.1, []float64{2, 2}, 2.4, 2.6},
		{0.1, []float64{2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 2.1, 2.2},
		{0.1, []float64{1, 2}, 3, 4},
		{0.1, []float64{1, 2, 3}, 4, 6},
		{0.1, []float64{1, 2, 3, 4}, 5, 8},
		{0.1, []float64{1, 2, 3, 4, 5, 6, 7}, 8, 12},
		{0.1, []float64{1, 1, 1, 1, 1, 1, 1, 9}, 9, 12}, // never below what was seen
		{0.02, []float64{2}, 2.1, 2.2},                  // whoever says that they are alike
		{0.02, []float64{2, 2, 2}, 2, 2.1},
		{0.02, []float64{1, 2}, 3, 4},
	} {
		var p Peaks
		for _, x := range tt.peaks {
			p = p.Saw(profile.BytesOf(x*float64(profile.GiB)), true)
		}
		if got := float64(p.Bound(tt.usual)) / float64(profile.GiB); got < tt.lo || got > tt.hi {
			t.Errorf("after %v GiB the bound is %.2f GiB, want %v to %v", tt.peaks, got, tt.lo, tt.hi)
		}
	}
	if (Peaks{}).Bound(0.1) != 0 {
		t.Error("nothing was seen, and there is a bound")
	}
	var first Peaks
	if first = first.Saw(profile.GiB, false).Saw(2*profile.GiB, false); first.N != 0 || first.Bound(0.1) != first.Saw(2*profile.GiB, true).Bound(0.1) {
		t.Errorf("a run that goes on counts as %d, with a bound of %v", first.N, first.Bound(0.1))
	}
	var known profile.Profile
	two := first.Saw(6*profile.GiB, true).Saw(20*profile.GiB, true)
	for most, want := range map[profile.Bytes]profile.Bytes{0: two.Bound(0.1), 40 * profile.GiB: 32*profile.GiB - profile.MiB, 10 * profile.GiB: 20 * profile.GiB} {
		if got := profile.BytesOf(two.Bounded(&known, 0.1, 0.25, most).Vector.Or(profile.PeakMemory, 0)); got != want {
			t.Errorf("where the largest GPU offers %v the bound is %v, want %v", most, got, want)
		}
	}
	for n, last := 2, 10.0; n < 200; n++ {
		if x := student(n); x >= last || x < 1.644 {
			t.Errorf("%d degrees of freedom: %v after %v", n, x, last)
		} else {
			last = x
		}
	}
}
