package pace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// fakeSlices measures made-up tasks on the slices of an A100: time per step
// grows with the power they draw.
func fakeSlices(tb testing.TB) []MIGObservation {
	tb.Helper()
	gpu, ok := profile.LookupGPU("A100-40GB")
	if !ok {
		tb.Fatal("A100-40GB is not in the catalogue")
	}
	var obs []MIGObservation
	for m := range 5 {
		for b := range 3 {
			power := 0.15 + 0.1*float64(m) + 0.03*float64(b)
			p := fakeTask(tb, fmt.Sprintf("m%d", m), 8<<b, min(1, power+0.2), power/2, math.NaN())
			if err := p.Vector.Set(profile.BusyPower, power); err != nil {
				tb.Fatal(err)
			}
			for _, s := range gpu.MIG {
				c := float64(s.Compute) / 7
				obs = append(obs, MIGObservation{Profile: p, GPU: gpu, Slice: s, Speed: 1 / (1 + 0.9*(power-0.1)*(1/c-1)), Group: p.Spec.Model.Name})
			}
		}
	}
	return obs
}

func TestMIGSpeedProperties(t *testing.T) {
	obs := fakeSlices(t)
	fitted, err := FitMIGSpeed(obs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range obs {
		e, err := fitted.Speed(o.Profile, &o.GPU, o.Slice)
		if err != nil || !(math.Abs(e.Value-o.Speed) <= 0.05) {
			t.Errorf("%s on %s: %+v, %v, want %v", o.Group, o.Slice.Name, e, err, o.Speed)
		}
	}
	gpu := obs[0].GPU
	for name, m := range map[string]*MIGSpeed{"fitted": fitted, "prior": {}} {
		t.Run(name, rapid.MakeCheck(func(r *rapid.T) {
			p := &profile.Profile{}
			for _, f := range []profile.Feature{profile.BusyPower, profile.MeanGPUBusy, profile.MeanMemBusy} {
				if rapid.Bool().Draw(r, f.String()+" known") {
					if err := p.Vector.Set(f, rapid.Float64Range(0, 1).Draw(r, f.String())); err != nil {
						r.Fatal(err)
					}
				}
			}
			last := 0.0
			for _, name := range []string{"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"} {
				for _, s := range gpu.MIG {
					if s.Name != name {
						continue
					}
					e, err := m.Speed(p, &gpu, s)
					if err != nil || !(e.Value > 0 && e.Value <= 1 && e.Lo <= e.Value && e.Value <= e.Hi) {
						r.Fatalf("%s: %+v, %v", name, e, err)
					}
					if e.Value < last {
						r.Fatalf("%s is slower than a smaller slice: %v after %v", name, e.Value, last)
					}
					last = e.Value
				}
			}
			if last != 1 {
				r.Fatalf("the whole GPU has speed %v", last)
			}
		}))
	}
}

// TestMIGSpeedBusyAlone: tasks of which the busy share alone is known leave of the GPU what
// is idle, less at a larger batch, whatever counters of the same name say of tasks that have others;
// who fills it runs at his slice's share, and beside a larger memory a little faster.
func TestMIGSpeedBusyAlone(t *testing.T) {
	others := fakeSlices(t)
	gpu := others[0].GPU
	var obs []MIGObservation
	for m := range 5 {
		for b := range 3 {
			p := fakeTask(t, fmt.Sprintf("e%d", m), 8<<b, 0.3+0.1*float64(m)+0.03*float64(b), math.NaN(), math.NaN())
			busy, _ := p.Vector.Get(profile.MeanGPUBusy)
			for _, s := range gpu.MIG {
				part := min(max(float64(s.Compute)/7, float64(s.Size)/8), float64(s.Compute)/6)
				speed := math.Pow(1+math.Pow(1-(1-busy)*6/float64(int(8<<b)), 3)*(math.Pow(part, -3)-1), -1./3)
				obs = append(obs, MIGObservation{Profile: p, GPU: gpu, Slice: s, Speed: speed, Group: p.Spec.Model.Name})
			}
		}
	}
	m, err := FitMIGSpeed(append(others, obs...), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range obs {
		e, err := m.Speed(o.Profile, &o.GPU, o.Slice)
		if err != nil || !(math.Abs(e.Value-o.Speed) <= 1e-3) || e.Source.Kind != predict.Fitted {
			t.Errorf("%s on %s: %+v, %v, want %v", o.Group, o.Slice.Name, e, err, o.Speed)
		}
	}
	full := fakeTask(t, "full", 8, 1, math.NaN(), math.NaN())
	for _, s := range gpu.MIG {
		want, ok := map[string]float64{"1g.5gb": 1. / 7, "1g.10gb": 1. / 6, "2g.10gb": 2. / 7, "3g.20gb": 0.5, "4g.20gb": 4. / 7, "7g.40gb": 1}[s.Name]
		if e, err := m.Speed(full, &gpu, s); ok && (err != nil || math.Abs(e.Value-want) > 1e-9) {
			t.Errorf("%s filled: %v, %v, want %v", s.Name, e.Value, err, want)
		}
	}
}

// TestMIGSpeedConfidence: an estimate covers what was asked for, 0.9 where nothing was.
func TestMIGSpeedConfidence(t *testing.T) {
	obs := fakeTraffic(t, 20, 0.2, 1)
	o, small := &obs[0], obs[0].GPU.MIG[0]
	var widths []float64
	for _, asked := range []float64{0, 0.5, 0.95} {
		m, err := FitMIGSpeed(obs, &MIGOptions{Confidence: asked})
		if err != nil {
			t.Fatal(err)
		}
		want := cmp.Or(asked, 0.9)
		e, err := m.Speed(o.Profile, &o.GPU, small)
		probed, err2 := m.SpeedFromProbe(o.Profile, &o.GPU, small, small, 0.3)
		if err != nil || err2 != nil || e.Confidence != want || probed.Confidence != want {
			t.Errorf("asked for %v: %v, probed %v; %v, %v", asked, e.Confidence, probed.Confidence, err, err2)
		}
		widths = append(widths, e.Hi-e.Lo)
	}
	if !(widths[1] < widths[0] && widths[0] <= widths[2]) {
		t.Errorf("intervals of 0.9, 0.5 and 0.95 are %v wide", widths)
	}
	if e, err := new(MIGSpeed).Speed(o.Profile, &o.GPU, small); err != nil || e.Confidence != 0.9 {
		t.Errorf("without data: %+v, %v", e, err)
	}
	for _, asked := range []float64{-0.1, 1, math.NaN()} {
		if _, err := FitMIGSpeed(obs, &MIGOptions{Confidence: asked}); err == nil {
			t.Errorf("a confidence of %v: no error", asked)
		}
	}
}

// TestMIGSpeedGroups: to validate takes two groups.
func TestMIGSpeedGroups(t *testing.T) {
	obs := fakeTraffic(t, 2, 0, 1)
	if _, err := FitMIGSpeed(obs, nil); err != nil {
		t.Errorf("two groups: %v", err)
	}
	for i := range obs {
		obs[i].Group = "all"
	}
	if _, err := FitMIGSpeed(obs, nil); err == nil || !strings.Contains(err.Error(), `all observations are of group "all"`) {
		t.Errorf("one group: %v", err)
	}
}

// fakeTraffic are tasks that differ in what they move alone, a fifth of their speed
// on a slice being chance where noise is 0.2.
func fakeTraffic(tb testing.TB, groups int, noise float64, seed uint64) []MIGObservation {
	tb.Helper()
	gpu, rng := fakeSlices(tb)[0].GPU, rand.New(rand.NewPCG(seed, 3))
	var obs []MIGObservation
	for m := range groups {
		p := fakeTask(tb, fmt.Sprint("m", m), 8, 0.5, rng.Float64(), math.NaN())
		x := math.Pow(p.Vector.Or(profile.MeanMemBusy, 0), 0.7)
		for _, s := range gpu.MIG {
			v := 1 / (1 + x*(8/float64(s.Size)-1))
			obs = append(obs, MIGObservation{Profile: p, GPU: gpu, Slice: s, Speed: min(1, v*(1+noise*(2*rng.Float64()-1))), Group: p.Spec.Model.Name})
		}
	}
	return obs
}

// TestMIGIntervals: tasks that differ in their traffic alone are told apart, and
// intervals, from the profile and from a probe, cover tasks that no fit has seen as
// often as they say, without being wide where there is no noise.
func TestMIGIntervals(t *testing.T) {
	for _, noise := range []float64{0, 0.2} {
		m, err := FitMIGSpeed(fakeTraffic(t, 40, noise, 1), nil)
		if err != nil {
			t.Fatal(err)
		}
		var seen, covered [2]int
		var width float64
		for _, o := range fakeTraffic(t, 200, noise, 2) {
			if o.Slice.Compute == 7 {
				continue
			}
			plain, err := m.Speed(o.Profile, &o.GPU, o.Slice)
			if err != nil {
				t.Fatal(err)
			}
			probe := o.GPU.MIG[0]
			if o.Slice.Name == probe.Name {
				probe = o.GPU.MIG[2]
			}
			other, _ := m.Speed(o.Profile, &o.GPU, probe)
			probed, err := m.SpeedFromProbe(o.Profile, &o.GPU, o.Slice, probe, other.Value)
			if err != nil {
				t.Fatal(err)
			}
			for k, e := range []predict.Estimate{plain, probed} {
				width = max(width, e.Hi-e.Lo)
				if seen[k]++; e.Lo <= o.Speed && o.Speed <= e.Hi {
					covered[k]++
				}
			}
			if off := math.Abs(plain.Value - o.Speed); !(off <= 0.05+noise) {
				t.Errorf("noise %v: %s says %v, was %v", noise, o.Slice.Name, plain.Value, o.Speed)
			}
		}
		for k, kind := range []string{"profile", "probe"} {
			if share := float64(covered[k]) / float64(seen[k]); noise > 0 && share < 0.85 {
				t.Errorf("noise %v, by the %s: %.2f of new tasks are covered, 0.9 promised", noise, kind, share)
			}
		}
		if noise == 0 && width > 0.15 || noise > 0 && width > 0.6 {
			t.Errorf("noise %v: an interval is %v wide", noise, width)
		}
	}
}

func TestMIGSpeedRejectsAndSaves(t *testing.T) {
	obs := fakeSlices(t)
	m, err := FitMIGSpeed(obs, &MIGOptions{Provenance: "made up"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Speed(nil, nil, profile.MIGProfile{Compute: 9, Size: 1}); !errors.Is(err, ErrSlice) {
		t.Errorf("a slice larger than the GPU: %v", err)
	}
	probe := obs[0]
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := m.SpeedFromProbe(probe.Profile, &probe.GPU, probe.Slice, probe.Slice, v); err == nil {
			t.Errorf("a probe of %v was accepted", v)
		}
		bad := append([]MIGObservation(nil), obs...)
		bad[3].Speed = v
		if _, err := FitMIGSpeed(bad, nil); err == nil {
			t.Errorf("a speed of %v was fitted", v)
		}
	}
	for _, slice := range []profile.MIGProfile{probe.Slice, obs[2].Slice} { // noise: no slice is faster than the whole GPU
		full, err := m.SpeedFromProbe(probe.Profile, &probe.GPU, slice, probe.Slice, 1)
		if more, err2 := m.SpeedFromProbe(probe.Profile, &probe.GPU, slice, probe.Slice, 1.3); err != nil || err2 != nil || more != full || more.Value > 1 {
			t.Errorf("%s: a probe faster than the whole GPU says %+v, one as fast %+v", slice.Name, more, full)
		}
	}
	e, err := m.SpeedFromProbe(probe.Profile, &probe.GPU, obs[2].Slice, probe.Slice, 0.9*probe.Speed)
	plain, _ := m.Speed(probe.Profile, &probe.GPU, obs[2].Slice)
	if err != nil || e.Value > plain.Value {
		t.Errorf("a slow probe raised %v to %v, %v", plain.Value, e.Value, err)
	}
	var first, second bytes.Buffer
	if err := m.Save(&first); err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadMIGSpeed(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Save(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("saving a loaded model gives other bytes: %v", err)
	}
	if _, err := LoadMIGSpeed(bytes.NewReader([]byte("{}"))); err == nil {
		t.Error("loaded {}")
	}
}

// TestProbeThatAgrees: a probe that measures what was predicted changes nothing but what
// the estimate rests on, one that measures more raises it.
func TestProbeThatAgrees(t *testing.T) {
	obs := fakeSlices(t)
	m, err := FitMIGSpeed(obs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range obs[:5] {
		probe, slice := o.Slice, obs[2].Slice
		if probe.Name == slice.Name || probe.Compute == 7 {
			continue
		}
		at, _ := m.Speed(o.Profile, &o.GPU, probe)
		want, _ := m.Speed(o.Profile, &o.GPU, slice)
		got, err := m.SpeedFromProbe(o.Profile, &o.GPU, slice, probe, at.Value)
		if err != nil || !(math.Abs(got.Value-want.Value) <= 1e-9) || got.Source.Kind != predict.Measured {
			t.Errorf("%s as predicted: %+v, %v, want %v", probe.Name, got, err, want.Value)
		}
		if more, err := m.SpeedFromProbe(o.Profile, &o.GPU, slice, probe, min(1, 1.1*at.Value)); err != nil || more.Value <= want.Value {
			t.Errorf("%s faster than predicted: %+v, %v, want more than %v", probe.Name, more, err, want.Value)
		}
	}
}

// TestPriorWidth: without data an estimate is as wide as speeds were seen to be, least
// near that of the whole GPU.
func TestPriorWidth(t *testing.T) {
	o := fakeSlices(t)[0]
	var m MIGSpeed
	for _, s := range o.GPU.MIG {
		e, err := m.Speed(nil, &o.GPU, s)
		if err != nil {
			t.Fatal(err)
		}
		half := 2 * (0.03 + e.Value*(1-e.Value))
		if s.Compute == 7 {
			half = 0
		}
		if want := max(predict.LeastSpeed, e.Value-half); !(math.Abs(e.Lo-want) <= 1e-12) || !(math.Abs(e.Hi-min(1, e.Value+half)) <= 1e-12) {
			t.Errorf("%s: %+v, want %v more and less", s.Name, e, half)
		}
	}
}

// TestLoadRefusesOthers: a file of another format, version or set of features is none.
func TestLoadRefusesOthers(t *testing.T) {
	obs := fakeSlices(t)
	m, err := FitMIGSpeed(obs, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := string(saved(t, m))
	for _, change := range [][2]string{{`"format":"`, `"format":"x`}, {`"version":`, `"version":9`}, {`"confidence":0.9`, `"confidence":0`}, {`"confidence":0.9`, `"confidence":1`}} {
		changed := strings.Replace(file, change[0], change[1], 1)
		if _, err := LoadMIGSpeed(strings.NewReader(changed)); changed == file || err == nil {
			t.Errorf("%s: accepted", change[1])
		}
	}
	for speed, fine := range map[float64]bool{predict.MostSpeed: true, predict.MostSpeed + 0.001: false} {
		bad := append([]MIGObservation(nil), obs...)
		bad[0].Speed = speed
		if _, err := FitMIGSpeed(bad, nil); (err == nil) != fine {
			t.Errorf("a speed of %v: %v", speed, err)
		}
	}
}

// fakeTask is a task with the given use; NaN leaves a feature missing.
func fakeTask(tb testing.TB, model string, batch int, sm, dram, step float64) *profile.Profile {
	tb.Helper()
	p := &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: model}, Training: profile.Training{BatchSize: batch}}}
	for f, v := range map[profile.Feature]float64{profile.MeanGPUBusy: sm, profile.MeanMemBusy: dram, profile.MedianStepTime: step, profile.BatchSize: float64(batch)} {
		if math.IsNaN(v) {
			continue
		}
		if err := p.Vector.Set(f, v); err != nil {
			tb.Fatal(err)
		}
	}
	return p
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

func checkLoaded(t *testing.T, e predict.Estimate) {
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
