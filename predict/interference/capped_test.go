package interference

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// TestCapped holds caps to what they promise, under the prior and a fitted model.
func TestCapped(t *testing.T) {
	tasks, obs := fakeWorld(t, 3, 4, 3)
	for i := range obs {
		obs[i].Mechanism = profile.MPS
	}
	gpu := rtx3090(t)
	for name, m := range map[string]*Predictor{"prior": {}, "fitted": mustFit(t, obs, &Options{NoTrees: true})} {
		t.Run(name, rapid.MakeCheck(func(r *rapid.T) {
			set := rapid.SliceOfN(rapid.SampledFrom(append(tasks, nil)), 1, 4).Draw(r, "set")
			caps := rapid.SliceOfN(rapid.Float64Range(0.01, 1), len(set), len(set)).Draw(r, "caps")
			speeds := func(caps []float64) []predict.Estimate {
				e, err := m.Capped(gpu, set, caps, nil)
				if err != nil {
					r.Fatal(err)
				}
				return e
			}
			ones := make([]float64, len(set))
			for i := range ones {
				ones[i] = 1
			}
			if diff := cmp.Diff(speeds(nil), speeds(ones)); diff != "" {
				r.Fatalf("caps of 100 %% change something:\n%s", diff)
			}
			before := speeds(caps)
			at := rapid.IntRange(0, len(set)-1).Draw(r, "task")
			lower := append([]float64(nil), caps...)
			lower[at] *= rapid.Float64Range(0.1, 1).Draw(r, "factor")
			for i, e := range speeds(lower) {
				if !(e.Value > 0 && e.Value <= 1 && e.Lo > 0 && e.Lo <= e.Value && e.Value <= e.Hi && e.Hi <= 1) {
					r.Fatalf("estimate %+v", e)
				}
				if i == at && e.Value > before[i].Value+1e-12 {
					r.Fatalf("a lower cap makes its task faster: %v, was %v", e.Value, before[i].Value)
				}
				if i != at && e.Value < before[i].Value-1e-12 {
					r.Fatalf("a lower cap makes another task slower: %v, was %v", e.Value, before[i].Value)
				}
			}
		}))
	}
	for name, caps := range map[string][]float64{"length": {1}, "zero": {0, 1}, "above": {1, 1.1}, "nan": {1, math.NaN()}} {
		if _, err := new(Predictor).Capped(gpu, tasks[:2], caps, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
