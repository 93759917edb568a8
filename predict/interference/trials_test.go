package interference

import (
	"testing"

	"example.com/colloc/profile"
)

// TestTrials: measurements by type, whatever the order of a set, the newest five by their
// median, and nothing of tasks without a name.
func TestTrials(t *testing.T) {
	task := func(name string) *profile.Profile {
		return &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: name}}}
	}
	a, b, c := task("a"), task("b"), task("c")
	gpu := profile.GPUModel{Name: "T4"}
	m := &Predictor{}
	tell := func(set []*profile.Profile, speeds ...float64) {
		o := Observation{GPU: "T4", Mechanism: profile.TimeSlice, Set: set}
		for _, v := range speeds {
			o.Speeds = append(o.Speeds, profile.Opt[float64]{})
			if v > 0 {
				o.Speeds[len(o.Speeds)-1] = profile.Some(v)
			}
		}
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	if !m.Trials(&gpu, profile.TimeSlice).None() {
		t.Error("something is known before anything was seen")
	}
	for _, v := range []float64{.9, .9, .9, .2, .1, .3} { // the oldest is the sixth
		tell([]*profile.Profile{b, a}, 0, v)
	}
	tell([]*profile.Profile{task(""), a}, .1, .1)
	tell([]*profile.Profile{c, a, a}, .3, .4, .6)
	trials := m.Clone().Trials(&gpu, profile.TimeSlice)
	own, other := trials.With(a).Beside(b)
	if own != profile.Some(.3) || !other.IsZero() {
		t.Errorf("a beside b: %v, %v; want the median .3 and nothing", own, other)
	}
	if own, other := trials.With(b).Beside(a); !own.IsZero() || other != profile.Some(.3) {
		t.Errorf("b beside a: %v, %v", own, other)
	}
	if len(trials.With(task(""))) != 0 || len(trials.With(nil)) != 0 || len(trials.With(a)) != 1 {
		t.Error("tasks without a name are known")
	}
	found := 0
	trials.Larger([]*profile.Profile{a, nil, b, c, a}, func(places []int, speeds []profile.Opt[float64]) {
		found++
		if len(places) != 3 || places[0] != 0 || places[1] != 4 || places[2] != 3 || speeds[1] != profile.Some(.5) || speeds[2] != profile.Some(.3) {
			t.Errorf("at %v: %v", places, speeds)
		}
	})
	trials.Larger([]*profile.Profile{a, b, c}, func([]int, []profile.Opt[float64]) { found++ })
	if found != 1 {
		t.Errorf("found %d times, want once: of two a, one is not enough", found)
	}
	if !m.Trials(&gpu, profile.MPS).None() {
		t.Error("known under another mechanism")
	}
}
