package interference

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAdapt: intervals of types that were met since the fit widen by what they miss, to
// three times at most, narrow again while they hold, and never below what was calibrated.
// Those of types of the fit and of strangers stay.
func TestAdapt(t *testing.T) {
	var d drift
	const risk, level = 0.1, 2
	for range 9 {
		d.adapt(0.5, 1, 1, risk, level)
	}
	if d.Wider != 0 {
		t.Errorf("wider by e^%v after nothing was missed", d.Wider)
	}
	d.adapt(2, 1, 1, risk, level)
	if got := d.factor(level); math.Abs(got-math.Exp(widenBy*(1-risk))) > 1e-12 {
		t.Errorf("a factor of %v after one miss", got)
	}
	for range 9 {
		d.adapt(0.5, 1, 1, risk, level)
	}
	if d.Wider > 1e-12 {
		t.Errorf("wider by e^%v after one of ten missed", d.Wider)
	}
	for range 100 {
		d.adapt(10, 1, 1, risk, level)
	}
	if got := d.factor(level); math.Abs(got-3) > 1e-12 {
		t.Errorf("a factor of %v after misses only, want 3", got)
	}
	if d.factor(0) != 1 || d.factor(knownLevels) != 1 {
		t.Errorf("factors of %v for types of the fit and %v for strangers", d.factor(0), d.factor(knownLevels))
	}
	before := d.Wider
	d.adapt(10, 1, 1, risk, 0)
	d.adapt(0, 1, 1, risk, knownLevels)
	d.adapt(0, 0, 0, risk, level)
	if d.Wider != before {
		t.Error("others move the intervals of types that were met")
	}
}

// TestOneAloneRaisesNoDoubt: whatever was measured, if it is not doubted what is known, one more
// measurement, however far off, is not what makes it so; many are.
func TestOneAloneRaisesNoDoubt(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	for range 2000 {
		var d drift
		for range driftWindow/2 + rng.IntN(100) {
			d.add(0.4*rng.NormFloat64()+0.45, 1)
		}
		was, lied := d.doubts(), d
		if lied.add(-100+200*float64(rng.IntN(2)), 1); !was && lied.doubts() && math.Abs(d.Bias) <= mostBias {
			t.Fatalf("one measurement turns a bias of %.3f over %d into one of %.3f that is believed", d.Bias, d.Seen, lied.Bias)
		}
		for range 2 * driftWindow {
			lied.add(-1, 1)
		}
		if !lied.doubts() {
			t.Fatalf("after %d measurements off to one side the bias is %.3f and nothing is doubted", 2*driftWindow, lied.Bias)
		}
	}
}
