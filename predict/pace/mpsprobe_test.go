package pace

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

func TestMPSProbe(t *testing.T) {
	var mixes []Mix
	for k := range 60 {
		m := Mix{Probes: make([][]float64, 2), Slices: make([][]float64, 1)}
		for i := range 4 {
			v := 0.2 + 0.8*math.Mod(float64(k*7+i*3), 11)/11
			m.Probes[0], m.Probes[1] = append(m.Probes[0], v), append(m.Probes[1], 1-v/2)
			m.Slices[0] = append(m.Slices[0], 0.5+v/2)
		}
		mixes = append(mixes, m)
	}
	m, err := FitMPSProbe(mixes, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Speeds(mixes[0].Probes)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range got[0] {
		if !(math.Abs(e.Value-mixes[0].Slices[0][i]) <= 0.05) || e.Lo > e.Value || e.Hi < e.Value {
			t.Errorf("task %d: %+v, want %v", i, e, mixes[0].Slices[0][i])
		}
	}
	for _, bad := range [][][]float64{nil, {{1}}, {{1}, {0}}, {{1, 1}, {1}}, {{math.NaN()}, {1}}} {
		if _, err := m.Speeds(bad); err == nil {
			t.Errorf("probes %v were accepted", bad)
		}
	}
	if _, err := new(MPSProbe).Speeds(mixes[0].Probes); err == nil {
		t.Error("the zero value answered")
	}
	var first, second bytes.Buffer
	if err := m.Save(&first); err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadMPSProbe(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Save(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("saving a loaded model gives other bytes: %v", err)
	}
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
