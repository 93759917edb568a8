package pretrained

import (
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// busyTask is a task of which a solo run was observed, or only its name.
func busyTask(tb testing.TB, gpu *profile.GPUModel, name string, seen bool) *profile.Profile {
	tb.Helper()
	s := profile.Solo{Name: name, GPUModel: gpu, Batch: 32, Memory: profile.Some(profile.GiB / 2)}
	if seen {
		s.GPUBusy, s.MemBusy = profile.Some(1.0), profile.Some(0.9)
	}
	p, err := s.Profile()
	if err != nil {
		tb.Fatal(err)
	}
	return &p
}

// TestMeasuredUseIsNoPromise: on every GPU of the catalogue two tasks that were measured to
// saturate it are not predicted faster than two of which nothing is known, and where no
// row of the fit told what use costs, the answer is a prior.
func TestMeasuredUseIsNoPromise(t *testing.T) {
	m, err := Interference()
	if err != nil {
		t.Fatal(err)
	}
	for _, gpu := range profile.GPUs() {
		for _, mech := range []profile.Mechanism{profile.TimeSlice, profile.MPS} {
			var of [2][]predict.Estimate
			for k, seen := range []bool{false, true} {
				set := []*profile.Profile{busyTask(t, &gpu, "x", seen), busyTask(t, &gpu, "y", seen)}
				if of[k], err = m.Speeds(&gpu, mech, set, nil); err != nil {
					t.Fatal(err)
				}
			}
			for i := range of[1] {
				if of[1][i].Value > of[0][i].Value+0.1 {
					t.Errorf("%s, %v: measured %.2f, not measured %.2f", gpu.Name, mech, of[1][i].Value, of[0][i].Value)
				}
				if fitted := gpu.Name == "RTX3090" && mech == profile.TimeSlice; (of[1][i].Source.Kind == predict.Fitted) != fitted {
					t.Errorf("%s, %v: source %v", gpu.Name, mech, of[1][i].Source)
				}
			}
		}
	}
}
