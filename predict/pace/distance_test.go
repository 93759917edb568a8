package pace

import (
	"math"
	"testing"

	"example.com/colloc/profile"
)

// TestDistance: a card is as far from those of the data as in the rate in which it is
// farthest: 0 in the middle of them, 1 at their edge. Nothing is far from no data.
func TestDistance(t *testing.T) {
	s := *priorState()
	s.Rows, s.Lo, s.Hi = 9, rates{Narrow: 30, Wide: 28, Bandwidth: 24, FP32: 28}, rates{Narrow: 34, Wide: 32, Bandwidth: 28, FP32: 32}
	middle := rates{Narrow: 32, Wide: 30, Bandwidth: 26, FP32: 30}
	for i, field := range []func(r *rates) *float64{
		func(r *rates) *float64 { return &r.Narrow }, func(r *rates) *float64 { return &r.Wide },
		func(r *rates) *float64 { return &r.Bandwidth }, func(r *rates) *float64 { return &r.FP32 },
	} {
		for _, off := range []float64{-4, -2, 0, 0.5, 2, 6} {
			k := kind{rates: middle, known: true}
			*field(&k.rates) += off
			if got, want := s.distance(&k), math.Abs(off)/2; !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("rate %d is %v off the middle: distance %v, want %v", i, off, got, want)
			}
		}
	}
	far := kind{rates: rates{Narrow: 99, Wide: 99, Bandwidth: 99, FP32: 99}, known: true}
	if got := priorState().distance(&far); got != 0 {
		t.Errorf("distance %v from no data", got)
	}
	if far.known = false; s.distance(&far) != 0 {
		t.Errorf("distance %v of a card of which nothing is known", s.distance(&far))
	}
}

// TestPlausibleRates: a card whose rates are from 1e6 to 1e24 in a second is known by them, and by
// its tensor rate where that is one; rates beyond are none.
func TestPlausibleRates(t *testing.T) {
	for rate, want := range map[float64]bool{0: false, 0.999e6: false, 1e6: true, 1e24: true, 1.001e24: false, math.Inf(1): false, math.NaN(): false} {
		card := profile.GPUModel{Name: "own", FP32: rate, TF32: 2e12, BF16: 3e12, BandwidthBytesPerSec: 1e12}
		if k := kindOf(&card); k.known != want {
			t.Errorf("%v of FP32: known is %v", rate, k.known)
		}
		card.FP32, card.BandwidthBytesPerSec = 1e12, rate
		if k := kindOf(&card); k.known != want && rate > 0 { // 0 is not said
			t.Errorf("%v of bandwidth: known is %v", rate, k.known)
		}
		card.BandwidthBytesPerSec, card.BF16, card.TF32 = 1e12, rate, rate
		fastest := 1e12
		if want {
			fastest = max(fastest, rate)
		}
		if k := kindOf(&card); rate > 0 && !(math.Abs(k.rates.Narrow-math.Log(fastest)) <= 1e-8 && math.Abs(k.rates.Wide-math.Log(fastest)) <= 1e-8) {
			t.Errorf("%v of tensor cores: rates %+v", rate, k.rates)
		}
	}
}

// TestShares: a slice has a part of the compute and of the memory slices of its card: from one to all
// of each.
func TestShares(t *testing.T) {
	for _, name := range []string{"A100", "A30"} {
		card, _ := profile.LookupGPU(name)
		compute, size := card.MIGSlices()
		for c := range compute + 2 {
			for m := range size + 2 {
				got, err := shareOf(&card, profile.MIGProfile{Compute: c, Size: m})
				if want := c >= 1 && c <= compute && m >= 1 && m <= size; (err == nil) != want {
					t.Errorf("%s: %d compute and %d memory slices: %v", name, c, m, err)
				}
				e, err2 := new(MIGSpeed).Speed(nil, &card, profile.MIGProfile{Compute: c, Size: m})
				if whole := c == compute && m == size; (err2 == nil) != (err == nil) || err2 == nil && (e.Lo == e.Hi) != whole {
					t.Errorf("%s: %d compute and %d memory slices run at %+v, %v; only on all of the card is that certain", name, c, m, e, err2)
				}
				if err == nil && (!(math.Abs(got.compute*float64(compute)-float64(c)) <= 1e-9) || !(math.Abs(got.memory*float64(size)-float64(m)) <= 1e-9)) {
					t.Errorf("%s: %d of %d compute and %d of %d memory slices are %+v", name, c, compute, m, size, got)
				}
			}
		}
	}
}

// TestThroughputs: a throughput is what is told, or else batches by steps, from 1e-18 to 1e18.
func TestThroughputs(t *testing.T) {
	for told, want := range map[float64]bool{1e-18: true, 0.99e-18: false, 1e18: true, 1.01e18: false, -1: false, math.Inf(1): false, math.NaN(): false, 0: true} {
		p := &profile.Profile{Spec: profile.Spec{Training: profile.Training{BatchSize: 32}}}
		if err := p.Vector.Set(profile.MedianStepTime, 0.25); err != nil {
			t.Fatal(err)
		}
		o := Observation{Profile: p, GPU: profile.GPUModel{Name: "own"}, Throughput: told}
		gpu, got, err := o.throughput()
		if (err == nil) != want || err == nil && (gpu.Name != "own" || got != told && (told != 0 || got != 128)) {
			t.Errorf("told %v: %v, %v", told, got, err)
		}
	}
}
