package pace_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/colloc/internal/golden"
	"example.com/colloc/predict"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

func observe(tb testing.TB, m *pace.Predictor, p *profile.Profile, card string, throughput float64) {
	tb.Helper()
	if err := m.Observe(pace.Observation{Profile: p, GPU: profile.GPUModel{Name: card}, Throughput: throughput}); err != nil {
		tb.Fatal(err)
	}
}

// TestMeasuredRatios: two measured cards stand as measured, others move with
// those like them, tasks of other types do not.
func TestMeasuredRatios(t *testing.T) {
	for name, m := range models(t) {
		p, other := task(t, profile.CNN, profile.FP32, 64), task(t, profile.CNN, profile.FP32, 32)
		v100, k80, p100 := gpu(t, "V100-SXM2-16GB"), gpu(t, "K80"), gpu(t, "V100-SXM2-32GB")
		before, elsewhere := m.Ratio(p, p100, k80), m.Ratio(other, v100, k80)
		one := m.Ratio(p, v100, k80)
		observe(t, m, p, "Tesla V100-SXM2-16GB", 1000)
		if got := m.Ratio(p, v100, k80); !(math.Abs(got.Value/one.Value-1) <= 1e-9) || got.Source.Kind == predict.Measured || got.Hi > one.Hi*1.05 {
			t.Errorf("%s: one card measured: %+v, want the predicted %+v", name, got, one)
		}
		observe(t, m, p, "k80", 50)
		got := m.Ratio(p, v100, k80)
		if !(math.Abs(got.Value-20) <= 1e-9) || got.Source.Kind != predict.Measured || got.Hi > 24 || got.Lo < 16 {
			t.Errorf("%s: 1000 and 50 in a second: %+v, want 20", name, got)
		}
		if after := m.Ratio(p, p100, k80); !(after.Value > before.Value*1.1) || after.Source.Kind == predict.Measured || after.Hi/after.Lo > before.Hi/before.Lo {
			t.Errorf("%s: the V100 of 32 GB stays at %+v, was %+v", name, after, before)
		}
		if after := m.Ratio(other, v100, k80); after != elsewhere {
			t.Errorf("%s: another batch moved from %+v to %+v", name, elsewhere, after)
		}
		whole, slow := m.Pace(p, v100), m.Pace(p, k80)
		if !(math.Abs(whole.Value/slow.Value-20) <= 1e-9) {
			t.Errorf("%s: paces %v and %v, want 20 to 1", name, whole.Value, slow.Value)
		}
	}
}

// TestStepTime: a profile that was measured on a product is an observation.
func TestStepTime(t *testing.T) {
	var m pace.Predictor
	for _, c := range []struct {
		card string
		step time.Duration
	}{{"V100-SXM2-16GB", 100 * time.Millisecond}, {"K80", time.Second}} {
		spec := profile.Spec{Model: profile.Model{Name: "net"}, Training: profile.Training{BatchSize: 64}}
		p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{{StepTime: profile.Some(c.step)}}}, *gpu(t, c.card))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Observe(pace.Observation{Profile: &p}); err != nil {
			t.Fatal(err)
		}
	}
	p := task(t, profile.UnknownFamily, profile.FP32, 64)
	if e := m.Ratio(p, gpu(t, "V100-SXM2-16GB"), gpu(t, "K80")); !(math.Abs(e.Value-10) <= 1e-9) || e.Source.Kind != predict.Measured {
		t.Errorf("steps of 0.1 s and 1 s: %+v", e)
	}
}

func TestObserveFaults(t *testing.T) {
	p, unnamed := task(t, profile.CNN, profile.FP32, 64), &profile.Profile{}
	a100 := *gpu(t, "A100")
	for _, c := range []struct {
		name string
		o    pace.Observation
		want string
	}{
		{"no profile", pace.Observation{GPU: a100, Throughput: 1}, "no profile"},
		{"no GPU", pace.Observation{Profile: p, Throughput: 1}, "no name"},
		{"no throughput", pace.Observation{Profile: p, GPU: a100}, "throughput is 0"},
		{"negative", pace.Observation{Profile: p, GPU: a100, Throughput: -1}, "throughput is -1"},
		{"infinite", pace.Observation{Profile: p, GPU: a100, Throughput: math.Inf(1)}, "throughput is +Inf"},
		{"not a number", pace.Observation{Profile: p, GPU: a100, Throughput: math.NaN()}, "throughput is NaN"},
		{"a slice", pace.Observation{Profile: p, GPU: profile.GPUModel{Name: "NVIDIA A100-SXM4-40GB MIG 1g.5gb"}, Throughput: 1}, pace.ErrOnSlice.Error()},
		{"unnamed", pace.Observation{Profile: unnamed, GPU: a100, Throughput: 1}, "neither a name nor layers"},
	} {
		var m pace.Predictor
		before := m.Pace(p, &a100)
		err := m.Observe(c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, pace.ErrUnnamed) != (c.name == "unnamed") || errors.Is(err, pace.ErrOnSlice) != (c.name == "a slice") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if m.Pace(p, &a100) != before {
			t.Errorf("%s: learned something", c.name)
		}
	}
}

// TestConcurrentUse is for the race detector; a reader sees whole versions.
func TestConcurrentUse(t *testing.T) {
	var m pace.Predictor
	p, v100, k80 := task(t, profile.CNN, profile.FP32, 64), gpu(t, "V100-SXM2-16GB"), gpu(t, "K80")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				if err := m.Observe(pace.Observation{Profile: p, GPU: *v100, Throughput: 100}); err != nil {
					t.Error(err)
				}
				if err := m.Observe(pace.Observation{Profile: p, GPU: *k80, Throughput: 10}); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for range 200 {
				if e := m.Ratio(p, v100, k80); e.Source.Kind == predict.Measured && !(math.Abs(e.Value-10) <= 1e-9) {
					t.Errorf("half an observation: %+v", e)
				}
			}
		})
	}
	group.Wait()
}

func TestSaveLoad(t *testing.T) {
	m := fitted(t)
	p := task(t, profile.CNN, profile.FP32, 64)
	observe(t, m, p, "Tesla V100-SXM2-16GB", 1000)
	observe(t, m, p, "k80", 50)
	observe(t, m, task(t, profile.RNN, profile.FP32, 8), "Own Card", 5)
	var first, second bytes.Buffer
	if err := m.Save(&first); err != nil {
		t.Fatal(err)
	}
	again, err := pace.Load(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Save(&second); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("saved, loaded and saved:\n%s\n%s", first.Bytes(), second.Bytes())
	}
	for _, card := range []string{"V100-SXM2-16GB", "K80", "A100"} {
		if got, want := again.Pace(p, gpu(t, card)), m.Pace(p, gpu(t, card)); got != want {
			t.Errorf("%s: %+v after loading, %+v before", card, got, want)
		}
	}
	golden.Leaves(t, "files.txt", [][]byte{first.Bytes()}, []string{"-43", "-42", "-1", "0", "0.5", "1", "10", "11", "42", "43", "60", "61", "4611686018427387904", "4611686018427387905"}, nil, func(doc []byte) bool {
		again, err := pace.Load(bytes.NewReader(doc))
		if err != nil {
			return false
		}
		if e := again.Pace(p, gpu(t, "K80")); !(e.Value > 0 && e.Lo <= e.Value && e.Value <= e.Hi) {
			t.Errorf("%+v, of\n%s", e, doc)
		}
		return true
	})
}

func FuzzLoad(f *testing.F) {
	var saved bytes.Buffer
	if err := fitted(f).Save(&saved); err != nil {
		f.Fatal(err)
	}
	f.Add(saved.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := pace.Load(bytes.NewReader(data))
		if err != nil {
			return
		}
		if e := m.Pace(task(t, profile.CNN, profile.FP32, 8), gpu(t, "A100")); !(e.Value >= 0) || !(e.Lo <= e.Value && e.Value <= e.Hi) {
			t.Errorf("%+v", e)
		}
	})
}

// TestCloneIsIndependent: neither sees what the other learns.
func TestCloneIsIndependent(t *testing.T) {
	var m pace.Predictor
	p, v100, k80 := task(t, profile.CNN, profile.FP32, 64), gpu(t, "V100-SXM2-16GB"), gpu(t, "K80")
	c := m.Clone()
	before := c.Ratio(p, v100, k80)
	for m, rate := range map[*pace.Predictor]float64{&m: 3, c: 5} {
		for card, x := range map[*profile.GPUModel]float64{v100: rate, k80: 1} {
			if err := m.Observe(pace.Observation{Profile: p, GPU: *card, Throughput: x}); err != nil {
				t.Fatal(err)
			}
		}
		if m != c && before == m.Ratio(p, v100, k80) {
			t.Error("nothing learned")
		}
	}
	if a, b := m.Ratio(p, v100, k80).Value, c.Ratio(p, v100, k80).Value; !(math.Abs(a-3) <= 1e-9) || !(math.Abs(b-5) <= 1e-9) {
		t.Errorf("ratios %v and %v, want 3 and 5", a, b)
	}
}
