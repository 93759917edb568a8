package predict

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"example.com/colloc/profile"
)

// FuzzLoadInterference reads anything as a model and asks what was accepted: no
// file may crash a scheduler or make a prediction that is none.
func FuzzLoadInterference(f *testing.F) {
	_, obs := fakeWorld(f, 7, 2, 2)
	f.Add(saved(f, mustFit(f, obs, &InterferenceOptions{NoTrees: true})))
	f.Add([]byte(`{"format":"colloc interference","version":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := LoadInterference(bytes.NewReader(data)); err == nil {
			for _, e := range mustSpeeds(t, m, nil, nil, nil) {
				checkLoaded(t, e)
			}
		}
	})
}

// FuzzLoadUtilization reads anything as a model and asks what was accepted.
func FuzzLoadUtilization(f *testing.F) {
	f.Add([]byte(`{"format":"colloc-utilization","version":1,"gpu":"g","parts":[{"family":"cnn","quantity":"sm_active","part":{"mean":{"columns":22,"base":0.5},"flat":0.1}}]}`))
	spec := madeUpSpec(rand.New(rand.NewPCG(1, 1)), profile.CNN)
	gpu := profile.GPUModel{Name: "g", FP32: 1e13, BandwidthBytesPerSec: 1e12}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := LoadUtilization(bytes.NewReader(data)); err == nil {
			if use, err := m.Solo(&spec, &gpu); err == nil {
				checkLoaded(t, use.SMActive)
			}
		}
	})
}

// FuzzLoadMIGSpeed reads anything as a model and asks what was accepted.
func FuzzLoadMIGSpeed(f *testing.F) {
	m, err := FitMIGSpeed(fakeSlices(f), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(saved(f, m))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := LoadMIGSpeed(bytes.NewReader(data)); err == nil {
			if e, err := m.Speed(nil, nil, profile.MIGProfile{Compute: 1, Size: 1}); err == nil {
				checkLoaded(t, e)
			}
		}
	})
}

// FuzzLoadMPSProbe reads anything as a model and asks what was accepted.
func FuzzLoadMPSProbe(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 5))
	var mixes []Mix
	for range 12 {
		v := 0.2 + 0.8*rng.Float64()
		mixes = append(mixes, Mix{Probes: [][]float64{{v, 1}}, Slices: [][]float64{{v * v, 1}}})
	}
	probe, err := FitMPSProbe(mixes, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(saved(f, probe))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := LoadMPSProbe(bytes.NewReader(data))
		if err != nil {
			return
		}
		probes := make([][]float64, m.probes)
		for i := range probes {
			probes[i] = []float64{0.5, 1}
		}
		speeds, err := m.Speeds(probes)
		for i := range speeds {
			checkLoaded(t, speeds[i][0])
		}
		if err != nil && len(m.targets) > 0 {
			t.Errorf("a loaded probe model refuses good probes: %v", err)
		}
	})
}

func checkLoaded(t *testing.T, e Estimate) {
	t.Helper()
	if !(e.Value >= 0 && e.Value <= 1 && e.Lo <= e.Value && e.Value <= e.Hi) {
		t.Errorf("a loaded model predicts %+v", e)
	}
}

// saved is a small model as it saves itself.
func saved(tb testing.TB, m interface{ Save(w io.Writer) error }) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := m.Save(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}
