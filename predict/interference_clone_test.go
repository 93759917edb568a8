package predict

import (
	"testing"

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
	speed := func(m *Interference) float64 {
		t.Helper()
		e, err := m.Speeds(gpu, profile.TimeSlice, set, nil)
		if err != nil {
			t.Fatal(err)
		}
		return e[0].Value
	}
	learn := func(m *Interference, s float64) {
		t.Helper()
		o := SpeedObservation{GPU: "T4", Mechanism: profile.TimeSlice, Set: set, Speeds: []profile.Opt[float64]{profile.Some(s), profile.Some(s)}}
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	original := &Interference{}
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
