package pretrained

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/colloc/profile"
)

// TestRandomSets: of 1,000 sets of two to seven tasks of which a solo run was observed, on
// any GPU of the catalogue, the shares of time that they keep it busy in turns come to 1.4
// at most, nobody is slower without one of the others, and where a prior answers a set does
// no less than its tasks one after the other.
func TestRandomSets(t *testing.T) {
	m, err := Interference()
	if err != nil {
		t.Fatal(err)
	}
	const rounding = 1e-9
	rng := rand.New(rand.NewPCG(41, 7))
	gpus := profile.GPUs()
	for n := range 1000 {
		gpu := &gpus[rng.IntN(len(gpus))]
		var set []*profile.Profile
		for i := range 2 + rng.IntN(6) {
			s := profile.Solo{Name: fmt.Sprintf("t%d", i), GPUModel: gpu, Batch: 1 + rng.IntN(256), Memory: profile.Some(profile.GiB / 2)}
			s.GPUBusy, s.MemBusy = profile.Some(rng.Float64()), profile.Some(rng.Float64())
			p, err := s.Profile()
			if err != nil {
				t.Fatal(err)
			}
			set = append(set, &p)
		}
		for _, mech := range []profile.Mechanism{profile.TimeSlice, profile.MPS} {
			all, err := m.Speeds(gpu, mech, set, nil)
			if err != nil {
				t.Fatal(err)
			}
			var sum, busy float64
			for i, e := range all {
				sum += e.Value
				busy += e.Value * set[i].Vector.Or(profile.MeanGPUBusy, 1)
			}
			if mech == profile.TimeSlice && busy > 1.4+rounding {
				t.Errorf("set %d of %d on %s: busy for %.3f of the time", n, len(set), gpu.Name, busy)
			}
			if all[0].Source.Kind.String() == "prior" && sum < 1-rounding {
				t.Errorf("set %d of %d on %s under %v: sum of speeds %.3f", n, len(set), gpu.Name, mech, sum)
			}
			fewer, err := m.Speeds(gpu, mech, set[:len(set)-1], nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range fewer {
				if e.Value < all[i].Value-rounding {
					t.Errorf("set %d of %d on %s under %v: task %d at %.4f, and %.4f with one more", n, len(set), gpu.Name, mech, i, e.Value, all[i].Value)
				}
			}
		}
	}
}
