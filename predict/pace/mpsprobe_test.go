package pace

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

// noisyMixes are mixes of four tasks whose speeds on a slice are half chance.
func noisyMixes(count int, seed uint64) []Mix {
	rng := rand.New(rand.NewPCG(seed, 6))
	mixes := make([]Mix, count)
	for k := range mixes {
		var probe, slice []float64
		for range 4 {
			v := 0.1 + 0.4*rng.Float64()
			probe, slice = append(probe, v), append(slice, v+0.4*rng.Float64())
		}
		mixes[k] = Mix{Probes: [][]float64{probe}, Slices: [][]float64{slice}}
	}
	return mixes
}

// TestMPSProbeIntervals cover mixes that no tree has seen as often as they say.
func TestMPSProbeIntervals(t *testing.T) {
	m, err := FitMPSProbe(noisyMixes(60, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	seen, covered := 0, 0
	for _, mix := range noisyMixes(200, 2) {
		got, err := m.Speeds(mix.Probes)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range got[0] {
			if seen++; e.Lo <= mix.Slices[0][i] && mix.Slices[0][i] <= e.Hi {
				covered++
			}
		}
	}
	if share := float64(covered) / float64(seen); share < 0.85 || share > 0.97 {
		t.Errorf("%.3f of new speeds are covered, 0.9 promised", share)
	}
	bold, err := FitMPSProbe(noisyMixes(60, 1), &MPSProbeOptions{Confidence: 0.5, Provenance: "made up"})
	if err != nil {
		t.Fatal(err)
	}
	one := noisyMixes(1, 3)[0].Probes
	wide, _ := m.Speeds(one)
	narrow, err := bold.Speeds(one)
	if err != nil || narrow[0][0].Confidence != 0.5 || !(narrow[0][0].Hi-narrow[0][0].Lo < 0.8*(wide[0][0].Hi-wide[0][0].Lo)) || !strings.Contains(string(saved(t, bold)), "made up") {
		t.Errorf("asked for 0.5: %+v, %v; for 0.9: %+v", narrow[0][0], err, wide[0][0])
	}
}

// TestMPSProbeWithin: no slice is faster than the whole GPU, and an interval does not say so.
func TestMPSProbeWithin(t *testing.T) {
	mixes := noisyMixes(40, 4)
	for k := range mixes {
		for i := range mixes[k].Slices[0] {
			mixes[k].Slices[0][i] = min(1, mixes[k].Slices[0][i]+0.4)
		}
	}
	m, err := FitMPSProbe(mixes, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.targets[0].Trees.Base += 0.1 // as if every error were on one side
	reached := 0
	for _, mix := range mixes {
		speeds, err := m.Speeds(mix.Probes)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range speeds[0] {
			if e.Value > 1 || e.Hi > 1 || e.Lo > e.Value || e.Hi < e.Value {
				t.Errorf("%+v", e)
			}
			if e.Value == 1 {
				reached++
			}
		}
	}
	if reached == 0 {
		t.Error("no prediction was ever bounded")
	}
}

// TestProbeFeatures: a task is told by its own speed, the mean, the least and the largest
// of the mix, how many are slower and how many as fast, and by its ratio to the percentage
// before, whatever the order of the others.
func TestProbeFeatures(t *testing.T) {
	want := []float64{0.5, 0.5, 0.25, 0.75, 1, 1, 0.25, 0.75, 0.25, 1, 0, 1, 0.5}
	for _, probes := range [][][]float64{{{0.5, 0.25, 0.5, 0.75}, {0.25, 0.25, 1, 1}}, {{0.5, 0.75, 0.25, 0.5}, {0.25, 1, 0.25, 1}}} {
		if got := probeFeatures(probes, 0); !slices.Equal(got, want) {
			t.Errorf("of %v: %v, want %v", probes, got, want)
		}
	}
}

// TestMPSProbeRefuses what is too little to fit and files that no fit can have written.
func TestMPSProbeRefuses(t *testing.T) {
	if _, err := FitMPSProbe(noisyMixes(1, 1), nil); err == nil {
		t.Error("one mix was fitted: none is left to calibrate on")
	}
	odd := noisyMixes(4, 1)
	odd[1].Probes = append(odd[1].Probes, odd[1].Probes[0])
	if _, err := FitMPSProbe(odd, nil); err == nil || !strings.Contains(err.Error(), "mix 1: 2 probes and 1 slices, want 1 and 1") {
		t.Errorf("a mix with a percentage more than the first: %v", err)
	}
	for want, rows := range map[string][][]float64{
		"row 1 has 1 tasks, want 2": {{1, 1}, {1}, {1, 1}}, "row 0 has 0 tasks": {{}, {}}, "row 1, task 1: speed is 1.5": {{1, 1}, {1, 1.5}}, "row 0, task 0: speed is 0": {{0}},
	} {
		if err := checkSpeeds(rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", rows, err, want)
		}
	}
	m, err := FitMPSProbe(noisyMixes(2, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	file := string(saved(t, m))
	if _, err := LoadMPSProbe(strings.NewReader(file)); err != nil {
		t.Errorf("one percentage: %v", err)
	}
	for probes, ok := range map[string]bool{"0": false, "100": true, "101": false} {
		bare := strings.Replace(file[:strings.Index(file, `"targets":`)], `"probes":1`, `"probes":`+probes, 1) + `"targets":[]}`
		if _, err := LoadMPSProbe(strings.NewReader(bare)); (err == nil) != ok {
			t.Errorf("%s percentages: %v", probes, err)
		}
	}
	for _, targets := range []string{`[{"trees":null,"half":0.1}]`, `[{"half":0.1}]`} {
		changed := file[:strings.Index(file, `"targets":`)] + `"targets":` + targets + "}"
		if _, err := LoadMPSProbe(strings.NewReader(changed)); err == nil {
			t.Errorf("targets %s: accepted", targets)
		}
	}
	for _, change := range [][2]string{{`"format":"`, `"format":"x`}, {`"version":`, `"version":9`}, {`"probes":1`, `"probes":2`}, {`"half":`, `"half":-`}} {
		changed := strings.Replace(file, change[0], change[1], 1)
		if _, err := LoadMPSProbe(strings.NewReader(changed)); changed == file || err == nil {
			t.Errorf("%s: accepted", change[1])
		}
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
