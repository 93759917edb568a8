package predict

import (
	"math"
	"math/rand/v2"
	"testing"

	"example.com/colloc/profile"
)

// TestObserveWhatIsPredicted: where no slope is held at 0, a co-run that goes as
// predicted teaches nothing but certainty, however many tasks it has.
func TestObserveWhatIsPredicted(t *testing.T) {
	tasks, obs := fakeWorld(t, 1, 6, 3)
	m, gpu := mustFit(t, obs, nil), rtx3090(t)
	ratios := func(set []*profile.Profile) []Estimate {
		e, err := m.Ratios(gpu, profile.TimeSlice, set, nil)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	before := make([][]Estimate, len(obs))
	for i, o := range obs {
		before[i] = ratios(o.Set)
	}
	rng := rand.New(rand.NewPCG(17, 18))
	for range 60 {
		o := SpeedObservation{GPU: "RTX3090", Mechanism: profile.TimeSlice}
		for _, k := range rng.Perm(len(tasks))[:2+rng.IntN(3)] {
			o.Set = append(o.Set, tasks[k])
		}
		for _, e := range ratios(o.Set) {
			o.Speeds = append(o.Speeds, profile.Some(e.Value))
		}
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	for i, o := range obs {
		for k, e := range ratios(o.Set) {
			if math.Abs(e.Value-before[i][k].Value) > 1e-9 {
				t.Fatalf("pair %d, task %d: the speed was %v, is %v", i, k, before[i][k].Value, e.Value)
			}
			if e.Hi-e.Lo > before[i][k].Hi-before[i][k].Lo+1e-9 {
				t.Fatalf("pair %d, task %d: the interval was %v, is %v", i, k, before[i][k], e)
			}
		}
	}
}
