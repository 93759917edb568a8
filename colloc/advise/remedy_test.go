package advise_test

import (
	"math"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/advise"
	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// find returns the remedy of one action.
func find(d advise.Diagnosis, a advise.Action) *advise.Remedy {
	for i := range d.Remedies {
		if d.Remedies[i].Action == a {
			return &d.Remedies[i]
		}
	}
	return nil
}

// Mixed precision speeds up the GPU's part of a step by the ratio of the rates
// on the data sheet, at most 3, and by 2 where bandwidth limits.
func TestMixPrecisionEffect(t *testing.T) {
	planner := priorPlanner(t)
	for _, tt := range []struct {
		name      string
		gpu       string
		precision profile.Precision
		seen      counters
		want      float64 // the most that is expected
	}{
		{"tensor cores", "A100-40GB", profile.FP32, counters{0.9, 0.2, 0.1, 1, profile.GiB}, 3},
		{"bandwidth", "A100-40GB", profile.FP32, counters{0.6, 0.7, 0.1, 1, profile.GiB}, 2},
		{"half of the time on the GPU", "A100-40GB", profile.FP32, counters{0.9, 0.2, 0.1, 0.5, profile.GiB}, 1.5},
		{"from TF32", "A100-40GB", profile.TF32, counters{0.9, 0.2, 0.1, 1, profile.GiB}, 2},
		{"no tensor cores", "P100-PCIe-16GB", profile.FP32, counters{0.9, 0.2, 0.1, 1, profile.GiB}, 18.7 / 9.3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := diagnosed(t, profile.Model{Name: "m"}, profile.Training{BatchSize: 1, Workers: 1, Precision: tt.precision}, tt.seen, tt.gpu)
			r := find(advise.Diagnose(p, &advise.Options{Planner: planner}), advise.MixPrecision)
			if r == nil || !(math.Abs(r.Throughput.Hi-tt.want) <= 1e-9) || r.Throughput.Lo != 1 || !(math.Abs(r.Throughput.Value-math.Sqrt(tt.want)) <= 1e-9) {
				t.Errorf("got %v, want up to x%v", r, tt.want)
			}
		})
	}
}

// A measured peak corrects what is predicted for a changed training.
func TestRemedyMemoryFollowsMeasurement(t *testing.T) {
	planner := priorPlanner(t)
	m, training := blocks(64, 1e6, 2e7), profile.Training{BatchSize: 8, Workers: 1}
	peak := func(mixed bool) float64 {
		changed := training
		if mixed {
			changed.Precision = profile.Mixed
		}
		e, err := (&memory.Predictor{}).Peak(&profile.Spec{Model: m, Training: changed}, predict.Host{})
		if err != nil {
			t.Fatal(err)
		}
		return e.Value
	}
	measured := profile.Bytes(0.5 * peak(false))
	p := diagnosed(t, m, training, counters{0.9, 0.2, 0.1, 1, measured}, "A100-80GB")
	r := find(advise.Diagnose(p, &advise.Options{Planner: planner}), advise.MixPrecision)
	if r == nil {
		t.Fatal("mixed precision is not proposed")
	}
	got, _ := r.Memory.Get()
	if want := 0.5 * peak(true); !(math.Abs(got.Value/want-1) <= 1e-6) {
		t.Errorf("memory is %v, want %v: half of what is predicted, as measured", got.Value, want)
	}
}

// Nobody is slowed down beyond the Planner's limit.
func TestCollocateKeepsLimits(t *testing.T) {
	strict := newPlanner(t, colloc.Config{Memory: &memory.Predictor{}, Interference: &interference.Predictor{}, MaxSlowdown: 1.000001})
	p := diagnosed(t, profile.Model{Name: "m"}, profile.Training{BatchSize: 1, Workers: 1}, counters{0.3, 0.2, 0.1, 0.3, profile.GiB}, "RTX 3090")
	if r := find(advise.Diagnose(p, &advise.Options{Planner: strict}), advise.Collocate); r != nil {
		t.Errorf("got %v, want nothing that slows a task down", r)
	}
	if r := find(advise.Diagnose(p, &advise.Options{Planner: priorPlanner(t)}), advise.Collocate); r == nil {
		t.Error("got nothing, want tasks to share")
	}
}

// However slow a task may become, copies that were seen to do less together than one alone
// are not proposed.
func TestCollocateGains(t *testing.T) {
	p := diagnosed(t, profile.Model{Name: "m"}, profile.Training{BatchSize: 1, Workers: 1}, counters{0.4, 0.2, 0.1, 0.4, profile.GiB}, "RTX 3090")
	for _, seen := range []struct {
		speed    float64
		proposed bool
	}{{0.9, true}, {0.2, false}} {
		planner := newPlanner(t, colloc.Config{Memory: &memory.Predictor{}, Interference: &interference.Predictor{}, MaxSlowdown: 1e6})
		m := colloc.Measurement{Profile: p, Speed: profile.Some(seen.speed)}
		for range 50 {
			if err := planner.Observe(colloc.Observation{GPU: gpuModel(t, "RTX 3090"), Mechanism: profile.TimeSlice, Members: []colloc.Measurement{m, m}}); err != nil {
				t.Fatal(err)
			}
		}
		r := find(advise.Diagnose(p, &advise.Options{Planner: planner, Mechanism: profile.TimeSlice}), advise.Collocate)
		if (r != nil) != seen.proposed {
			t.Errorf("at %v of the speed alone each: %v", seen.speed, r)
		}
	}
}

// A batch grows while the task stays small enough to share, and shrinks until
// it is.
func TestChangeBatch(t *testing.T) {
	planner := priorPlanner(t)
	gpu := gpuModel(t, "A100-40GB")
	share := func(r *advise.Remedy) float64 { return float64(r.Reserved) / float64(gpu.Memory) }
	small := diagnosed(t, blocks(16, 1e6, 1e6), profile.Training{BatchSize: 4, Workers: 1}, counters{0.1, -1, 0.1, 0.1, 0}, gpu.Name)
	grown := find(advise.Diagnose(small, &advise.Options{Planner: planner}), advise.ChangeBatch)
	if grown == nil || grown.Count <= 4 || grown.Count&(grown.Count-1) != 0 || share(grown) > 0.8 {
		t.Errorf("got %v, want a larger power of two that leaves room", grown)
	}
	large := diagnosed(t, blocks(16, 1e6, 1e7), profile.Training{BatchSize: 16, Workers: 1}, counters{0.7, -1, 0.1, 1, 34 * profile.GiB}, gpu.Name)
	shrunk := find(advise.Diagnose(large, &advise.Options{Planner: planner}), advise.ChangeBatch)
	if shrunk == nil || shrunk.Count >= 16 || share(shrunk) > 0.8 {
		t.Errorf("got %v, want a smaller batch that leaves room", shrunk)
	}
}

// A batch of two can still be halved, and one that fills the GPU does not grow beyond
// what leaves room to share, however idle the GPU is.
func TestChangeBatchEnds(t *testing.T) {
	planner := priorPlanner(t)
	gpu := gpuModel(t, "A100-40GB")
	two := diagnosed(t, blocks(16, 1e6, 2e8), profile.Training{BatchSize: 2, Workers: 1}, counters{0.7, -1, 0.1, 1, 33 * profile.GiB}, gpu.Name)
	if r := find(advise.Diagnose(two, &advise.Options{Planner: planner}), advise.ChangeBatch); r == nil || r.Count != 1 {
		t.Errorf("from two: %v, want a batch of one", r)
	}
	idle := diagnosed(t, blocks(16, 1e6, 1e7), profile.Training{BatchSize: 4, Workers: 1}, counters{0.02, -1, 0.1, 0.1, 0}, gpu.Name)
	r := find(advise.Diagnose(idle, &advise.Options{Planner: planner}), advise.ChangeBatch)
	if r == nil || r.Count >= 64 || float64(r.Reserved) > 0.8*float64(gpu.Memory) {
		t.Errorf("from four: %v, want less than 64 and room for others", r)
	}
}

// Every action has a name that is read back.
func TestActionText(t *testing.T) {
	seen := map[string]bool{}
	for a := advise.Action(0); ; a++ {
		text, err := a.MarshalText()
		var back advise.Action = -1
		if err != nil || back.UnmarshalText(text) != nil {
			if len(seen) < 10 {
				t.Errorf("%d actions have names", len(seen))
			}
			return
		}
		if back != a || seen[string(text)] {
			t.Fatalf("action %d is %q, read back as %d", int(a), text, int(back))
		}
		seen[string(text)] = true
	}
}

// What is not known is told, and nothing is found in it.
func TestDiagnoseUnknownMemory(t *testing.T) {
	known := diagnosed(t, blocks(16, 1e6, 1e7), profile.Training{BatchSize: 8, Workers: 1}, counters{0.7, -1, 0.1, 1, 0}, "A100-40GB")
	known.GPU = profile.GPUModel{}
	d := advise.Diagnose(known, &advise.Options{Planner: priorPlanner(t)})
	for _, f := range d.Findings {
		if f.Bottleneck == advise.TooLargeToShare || f.Bottleneck == advise.TooLargeToFit {
			t.Errorf("without a GPU: %+v", f)
		}
	}
	dark := diagnosed(t, profile.Model{Name: "m", Layers: []profile.Layer{{Params: 1}}}, profile.Training{BatchSize: 8, Workers: 1}, counters{0.7, -1, 0.1, 1, 0}, "A100-40GB")
	dark.Spec.Model.Layers[0].Unknown |= profile.ActivationCounts
	d = advise.Diagnose(dark, &advise.Options{Planner: priorPlanner(t)})
	if !strings.Contains(strings.Join(d.Warnings, "\n"), "does not tell what the task keeps") {
		t.Errorf("warnings %q; want what the description lacks", d.Warnings)
	}
}

// What makes a task fit comes before what makes it faster.
func TestFittingComesFirst(t *testing.T) {
	p := diagnosed(t, blocks(64, 1e6, 2e7), profile.Training{BatchSize: 8}, counters{0.4, -1, 0.1, 0.4, 39 * profile.GiB}, "A100-40GB")
	d := advise.Diagnose(p, &advise.Options{Planner: priorPlanner(t)})
	workers := find(d, advise.AddWorkers)
	if d.Bottleneck != advise.TooLargeToFit || len(d.Findings) != 2 || workers == nil {
		t.Fatalf("got\n%v\nwant too large to fit, and few workers", d)
	}
	if d.Remedies[0].Action != advise.Recompute || d.Remedies[len(d.Remedies)-1].Action != advise.AddWorkers {
		t.Errorf("got\n%v\nwant recomputation first and workers last", d)
	}
}
