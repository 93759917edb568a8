package num

import (
	"math"
	"slices"
	"testing"
)

func TestFinite(t *testing.T) {
	for x, want := range map[float64]bool{0: true, -math.MaxFloat64: true, math.Inf(1): false, math.Inf(-1): false} {
		if Finite(x) != want {
			t.Errorf("%v is finite: %v", x, !want)
		}
	}
	if Finite(math.NaN()) {
		t.Error("NaN is finite")
	}
}

// TestRound keeps significant digits, of any size and sign.
func TestRound(t *testing.T) {
	for _, c := range []struct {
		x      float64
		digits int
		want   float64
	}{{1234.5678, 2, 1200}, {-0.00123456, 3, -0.00123}, {0, 3, 0}, {9.996, 3, 10}, {1e300, 3, 1e300}, {-math.MaxFloat64, 3, -math.MaxFloat64}} {
		if got := Round(c.x, c.digits); got != c.want {
			t.Errorf("%v to %d digits: %v, want %v", c.x, c.digits, got, c.want)
		}
	}
	if got := Round9(1.0 / 3); got != 0.333333333 {
		t.Errorf("a third to nine digits: %v", got)
	}
	if got := Round(math.Copysign(0, -1), 3); !math.Signbit(got) {
		t.Error("-0 loses its sign")
	}
}

func TestDotAndWeight(t *testing.T) {
	if got := Dot([]float64{1, 2, 3}, []float64{4, 5, 6}); got != 32 {
		t.Errorf("inner product %v, want 32", got)
	}
	if Weight(nil, 7) != 1 || Weight([]float64{2, 5}, 1) != 5 {
		t.Errorf("weights %v and %v, want 1 and 5", Weight(nil, 7), Weight([]float64{2, 5}, 1))
	}
}

// TestDistance: 0 in the middle of all ranges, 1 at an edge, at most 10; beside a range that
// is a single value 2.
func TestDistance(t *testing.T) {
	lo, hi := []float64{0, -1, 5}, []float64{4, 1, 5}
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{2, 0, 5}, 0},
		{[]float64{4, 0, 5}, 1},
		{[]float64{3, -1, 5}, 1},
		{[]float64{-1, 0.25, 5}, 1.5},
		{[]float64{2, 50, 5}, 10},
		{[]float64{2, 0, 5.1}, 2},
		{[]float64{2, 3, 4}, 3},
	} {
		if got := Distance(c.x, lo, hi); got != c.want {
			t.Errorf("%v: %v, want %v", c.x, got, c.want)
		}
	}
}

func TestRanges(t *testing.T) {
	lo, hi := Ranges([][]float64{{1, 5}, {-2, 6}, {0.1234567891234, 4}})
	if !slices.Equal(lo, []float64{-2, 4}) || !slices.Equal(hi, []float64{1, 6}) {
		t.Errorf("ranges %v to %v", lo, hi)
	}
	if lo, hi = Ranges([][]float64{{0.1234567891234}}); lo[0] != 0.123456789 || hi[0] != 0.123456789 {
		t.Errorf("range %v to %v, want nine digits", lo, hi)
	}
}
