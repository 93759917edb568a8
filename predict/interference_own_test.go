package predict

import (
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/profile"
)

// TestSlowdownsAddUp: what pairs cost bounds the speed in every larger set.
func TestSlowdownsAddUp(t *testing.T) {
	models := everyModel(t, 3)
	types := typesOf(models["pretrained"])
	for name, m := range models {
		t.Run(name, rapid.MakeCheck(func(r *rapid.T) {
			gpu, _ := profile.LookupGPU(rapid.SampledFrom(companyGPUs).Draw(r, "gpu"))
			mech := rapid.SampledFrom([]profile.Mechanism{profile.TimeSlice, profile.MPS}).Draw(r, "mechanism")
			set := make([]*profile.Profile, rapid.IntRange(3, 8).Draw(r, "tasks"))
			for i := range set {
				set[i] = drawTask(r, types)
			}
			values, err := m.Values(&gpu, mech, set, nil)
			if err != nil {
				r.Fatal(err)
			}
			for i, p := range set {
				load := 1 - float64(len(set)-2)*m.OwnCost(&gpu, mech, p)
				for j, o := range set {
					if j == i {
						continue
					}
					pair, err := m.Values(&gpu, mech, []*profile.Profile{p, o}, nil)
					if err != nil {
						r.Fatal(err)
					}
					load += 1/pair[0] - 1
				}
				if load <= 0 {
					continue // the own part is nearly all: nothing is promised
				}
				if most := max(LeastSpeed, 1/load); values[i] > most*(1+1e-9) {
					r.Fatalf("task %d runs at %v, its pairs allow %v", i, values[i], most)
				}
			}
		}))
	}
}
