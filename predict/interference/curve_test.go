package interference

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/profile"
)

// TestCurves: speed and loss are inverse, the slope is that of the speed, and the
// slowdown is convex and never falls.
func TestCurves(t *testing.T) {
	for _, c := range []curve{{}, curveOf(profile.MPS)} {
		if c.speed(0) != 1 || !(math.Abs(c.speed(0.5)-0.5) < 1e-12) {
			t.Fatalf("bend %v: a loss of 0 is a speed of %v, one of a half %v", c.bend, c.speed(0), c.speed(0.5))
		}
		rapid.Check(t, func(r *rapid.T) {
			v := rapid.Float64Range(0.011, 1).Draw(r, "speed")
			l := c.loss(v)
			if !(math.Abs(c.speed(l)-v) < 1e-9) || !(math.Abs(c.slowdown(c.ofSlowdown(1/v-1))-(1/v-1)) < 1e-9/v) {
				r.Fatalf("bend %v: speed %v is a loss of %v, which is a speed of %v", c.bend, v, l, c.speed(l))
			}
			const step = 1e-6
			if got, want := (c.speed(l-step)-c.speed(l+step))/(2*step), c.slope(l); !(math.Abs(got-want) < 1e-4*(1+want)) {
				r.Fatalf("bend %v: the slope at %v is %v, not %v", c.bend, l, got, want)
			}
			a, b := rapid.Float64Range(-1, 3).Draw(r, "a"), rapid.Float64Range(-1, 3).Draw(r, "b")
			if mid := c.slowdown((a + b) / 2); a < b && c.slowdown(a) > c.slowdown(b) || a >= 0 && b >= 0 && mid > (c.slowdown(a)+c.slowdown(b))/2+1e-9 {
				r.Fatalf("bend %v: losses %v and %v slow down by %v and %v, half-way by %v", c.bend, a, b, c.slowdown(a), c.slowdown(b), mid)
			}
		})
	}
}

// TestWhatSharingMakes: whatever shares a GPU of which nothing was measured does no worse
// than one task after the other, MPS no worse than turns, and in turns what keeps the
// GPU busy comes to 1.4 of it at most, in sets of two to seven.
func TestWhatSharingMakes(t *testing.T) {
	for name, m := range map[string]*Predictor{"prior": {}, "pretrained": pretrainedFile(t)} {
		rng := rand.New(rand.NewPCG(40, 2))
		gpu, _ := profile.LookupGPU("A100-40GB")
		for range 1000 {
			set := make([]*profile.Profile, 2+rng.IntN(6))
			for i := range set {
				set[i] = fakeTask(t, "", 8, rng.Float64(), rng.Float64(), 1)
			}
			turns, err := m.Values(&gpu, profile.TimeSlice, set, nil)
			if err != nil {
				t.Fatal(err)
			}
			mps, err := m.Values(&gpu, profile.MPS, set, nil)
			if err != nil {
				t.Fatal(err)
			}
			var busy, sum, sumMPS float64
			for i, p := range set {
				busy += turns[i] * p.Vector.Or(profile.MeanGPUBusy, 1)
				sum, sumMPS = sum+turns[i], sumMPS+mps[i]
				if mps[i] < turns[i]-0.005 {
					t.Errorf("%s: task %d of %d: %.3f under MPS, %.3f in turns", name, i, len(set), mps[i], turns[i])
				}
			}
			if busy > roomOfTurns+1e-9 || sum < 0.99 || sumMPS < 0.99 {
				t.Fatalf("%s: %d tasks: busy %.3f, speeds sum to %.3f in turns, %.3f under MPS", name, len(set), busy, sum, sumMPS)
			}
		}
	}
}
