package speed_test

import (
	"math"
	"testing"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// TestDrawn: a drawn speed lies within its interval as often as the interval promises, is the
// same whenever it is asked for, and that of seed 0 is the expected one.
func TestDrawn(t *testing.T) {
	m, err := pretrained.Interference()
	if err != nil {
		t.Fatal(err)
	}
	task := func(name string, busy float64) *sim.Task {
		p, err := profile.Solo{Name: name, GPU: "V100", SMActive: profile.Some(busy)}.Profile()
		if err != nil {
			t.Fatal(err)
		}
		return &sim.Task{Type: name, Profile: &p}
	}
	a, b := task("a", 0.6), task("b", 0.7)
	v100, ok := profile.LookupGPU("V100")
	if !ok {
		t.Fatal("no V100")
	}
	near(t, "seed 0", speedsOf(t, speed.Drawn{Interference: m}, v100.Name, a, b), speedsOf(t, speed.Fitted{Interference: m}, v100.Name, a, b), 0)
	near(t, "alone", speedsOf(t, speed.Drawn{Interference: m, Seed: 5}, v100.Name, a), []float64{1}, 0)
	interval, err := m.Speeds(&profile.GPUModel{Name: v100.Name}, profile.TimeSlice, []*profile.Profile{a.Profile, b.Profile}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const worlds = 4000
	within, together := 0, 0.0
	for seed := range uint64(worlds) {
		one := speedsOf(t, speed.Drawn{Interference: m, Seed: seed + 1}, v100.Name, a, b)
		two := speedsOf(t, speed.Drawn{Interference: m, Seed: seed + 1}, v100.Name, b, a)
		near(t, "the other way round", two, []float64{one[1], one[0]}, 0)
		if interval[0].Lo <= one[0] && one[0] <= interval[0].Hi {
			within++
		}
		if (one[0] > interval[0].Value) == (one[1] > interval[1].Value) {
			together++
		}
	}
	if got, want := float64(within)/worlds, interval[0].Confidence; got < want-0.03 || got > want+0.07 { // no speed exceeds 1
		t.Errorf("%.3f of the speeds lie within an interval of %.2f", got, want)
	}
	if share := together / worlds; share < 0.6 || share > 0.73 { // 1/2 + asin(1/2)/π = 2/3
		t.Errorf("two errors have the same sign in %.3f of the worlds, want 2/3", share)
	}
	// As often as promised a speed lies below its interval, and a type tells sets apart.
	below, alike, c := 0, 0, task("c", 0.7)
	for seed := range uint64(worlds) {
		d := speed.Drawn{Interference: m, Seed: seed + 1}
		one, other := speedsOf(t, d, v100.Name, a, b)[0], speedsOf(t, d, v100.Name, a, c)[0]
		if one < interval[0].Lo {
			below++
		}
		if one == other {
			alike++
		}
	}
	if got, want := float64(below)/worlds, (1-interval[0].Confidence)/2; math.Abs(got-want) > 0.015 {
		t.Errorf("%.3f of the speeds lie below an interval of %.2f", got, interval[0].Confidence)
	}
	if alike > worlds/4 { // at the most that there may be
		t.Errorf("beside two types that are used alike the error is the same in %d of %d worlds", alike, worlds)
	}
	if err := (speed.Drawn{Seed: 1}).Speeds(&sim.GPU{}, profile.TimeSlice, []*sim.Task{a, b}, make([]float64, 2)); err == nil {
		t.Error("no Interference, no error")
	}
}
