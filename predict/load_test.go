package predict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"example.com/colloc/profile"
)

// FuzzLoad reads anything as a model of each kind and asks what was accepted: no
// file may crash a scheduler or make a prediction that is none. FuzzLoadMemory
// has the fourth kind of file, which costs more to read.
func FuzzLoad(f *testing.F) {
	for _, seed := range loadSeeds(f) {
		f.Add(seed)
	}
	f.Add([]byte(`{"format":"colloc interference","version":2}`))
	f.Add([]byte(`{"format":"colloc-utilization","version":1,"gpu":"g","parts":[{"family":"cnn","quantity":"sm_active","part":{"mean":{"columns":22,"base":0.5},"flat":0.1}}]}`))
	spec := madeUp(1, profile.CNN, 1)[0].Spec
	gpu := profile.GPUModel{Name: "g", FP32: 1e13, BandwidthBytesPerSec: 1e12}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := LoadInterference(bytes.NewReader(data)); err == nil {
			for _, e := range mustSpeeds(t, m, nil, nil, nil) {
				checkLoaded(t, "interference", e)
			}
		}
		if m, err := LoadUtilization(bytes.NewReader(data)); err == nil {
			if use, err := m.Solo(&spec, &gpu); err == nil {
				checkLoaded(t, "utilization", use.SMActive)
			}
		}
		if m, err := LoadMIGSpeed(bytes.NewReader(data)); err == nil {
			if e, err := m.Speed(nil, nil, profile.MIGProfile{Compute: 1, Size: 1}); err == nil {
				checkLoaded(t, "mig", e)
			}
		}
		if m, err := LoadMPSProbe(bytes.NewReader(data)); err == nil {
			probes := make([][]float64, m.probes)
			for i := range probes {
				probes[i] = []float64{0.5, 1}
			}
			speeds, err := m.Speeds(probes)
			for i := range speeds {
				checkLoaded(t, "mps probe", speeds[i][0])
			}
			if err != nil && len(m.targets) > 0 {
				t.Errorf("a loaded probe model refuses good probes: %v", err)
			}
		}
	})
}

func checkLoaded(t *testing.T, kind string, e Estimate) {
	t.Helper()
	if !(e.Value >= 0 && e.Value <= 1 && e.Lo <= e.Value && e.Value <= e.Hi) {
		t.Errorf("%s: a loaded model predicts %+v", kind, e)
	}
}

// loadSeeds are small models of every kind, as they save themselves.
func loadSeeds(tb testing.TB) [][]byte {
	tb.Helper()
	_, obs := fakeWorld(tb, 7, 2, 2)
	rng := rand.New(rand.NewPCG(5, 5))
	var mixes []Mix
	for range 12 {
		v := 0.2 + 0.8*rng.Float64()
		mixes = append(mixes, Mix{Probes: [][]float64{{v, 1}}, Slices: [][]float64{{v * v, 1}}})
	}
	mig, err := FitMIGSpeed(fakeSlices(tb), nil)
	if err != nil {
		tb.Fatal(err)
	}
	probe, err := FitMPSProbe(mixes, nil)
	if err != nil {
		tb.Fatal(err)
	}
	var out [][]byte
	for _, m := range []interface{ Save(w io.Writer) error }{mustFit(tb, obs, &InterferenceOptions{NoTrees: true}), mig, probe} {
		var b bytes.Buffer
		if err := m.Save(&b); err != nil {
			tb.Fatal(err)
		}
		out = append(out, b.Bytes())
	}
	return out
}

// TestLoadersRefuseEachOther: a file of one kind is none of another, and a file
// cut short is none at all.
func TestLoadersRefuseEachOther(t *testing.T) {
	loaders := []func(io.Reader) error{
		func(r io.Reader) error { _, err := LoadInterference(r); return err },
		func(r io.Reader) error { _, err := LoadMIGSpeed(r); return err },
		func(r io.Reader) error { _, err := LoadMPSProbe(r); return err },
	}
	for i, file := range loadSeeds(t) {
		for j, load := range loaders {
			if err := load(bytes.NewReader(file)); (err == nil) != (i == j) {
				t.Errorf("file %d by loader %d: %v", i, j, err)
			}
		}
		var syntax *json.SyntaxError
		if err := loaders[i](bytes.NewReader(file[:len(file)/2])); err == nil || (!errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF)) {
			t.Errorf("half of file %d: %v", i, err)
		}
	}
}
