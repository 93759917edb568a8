package interference

import (
	"math"
	"math/rand/v2"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// TestCloneIsIndependent lets the original and its copy learn opposite things.
func TestCloneIsIndependent(t *testing.T) {
	task := func(name string) *profile.Profile {
		p, err := profile.New(
			profile.Spec{Model: profile.Model{Name: name}, Training: profile.Training{BatchSize: 8}},
			profile.Trace{Samples: []profile.Sample{{GPUBusy: profile.Some(0.5), MemBusy: profile.Some(0.2)}}},
			profile.GPUModel{})
		if err != nil {
			t.Fatal(err)
		}
		return &p
	}
	set := []*profile.Profile{task("a"), task("b")}
	gpu := &profile.GPUModel{Name: "T4"}
	speed := func(m *Predictor) float64 {
		t.Helper()
		e, err := m.Speeds(gpu, profile.TimeSlice, set, nil)
		if err != nil {
			t.Fatal(err)
		}
		return e[0].Value
	}
	learn := func(m *Predictor, s float64) {
		t.Helper()
		o := Observation{GPU: "T4", Mechanism: profile.TimeSlice, Set: set, Speeds: []profile.Opt[float64]{profile.Some(s), profile.Some(s)}}
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	original := &Predictor{}
	learn(original, 0.8)
	before := speed(original)
	copied := original.Clone()
	for range 20 {
		learn(original, 0.95)
		learn(copied, 0.4)
	}
	if up, down := speed(original), speed(copied); !(up > before && down < before) {
		t.Errorf("speed was %v; the original says %v after 0.95, the copy %v after 0.4", before, up, down)
	}
}

// TestObserveWhatIsPredicted: where no slope is held at 0, a co-run that goes as
// predicted teaches nothing but certainty, however many tasks it has.
func TestObserveWhatIsPredicted(t *testing.T) {
	models := 6
	if race.Enabled {
		models = 4 // fits take seconds
	}
	tasks, obs := fakeWorld(t, 1, models, 3)
	m, gpu := mustFit(t, obs, nil), rtx3090(t)
	ratios := func(set []*profile.Profile) []predict.Estimate {
		e, err := m.Ratios(gpu, profile.TimeSlice, set, nil)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	before := make([][]predict.Estimate, len(obs))
	for i, o := range obs {
		before[i] = ratios(o.Set)
	}
	rng := rand.New(rand.NewPCG(17, 18))
	for range 60 {
		o := Observation{GPU: "RTX3090", Mechanism: profile.TimeSlice}
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
			if !(math.Abs(e.Value-before[i][k].Value) <= 1e-9) {
				t.Fatalf("pair %d, task %d: the speed was %v, is %v", i, k, before[i][k].Value, e.Value)
			}
			if e.Hi-e.Lo > before[i][k].Hi-before[i][k].Lo+1e-9 {
				t.Fatalf("pair %d, task %d: the interval was %v, is %v", i, k, before[i][k], e)
			}
		}
	}
}
