package utilization

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

func a100(tb testing.TB) profile.GPUModel {
	tb.Helper()
	gpu, ok := profile.LookupGPU("A100-40GB")
	if !ok {
		tb.Fatal("no A100 in the catalogue")
	}
	return gpu
}

// madeUpUse gives made-up networks a use that grows with the work of a step.
func madeUpUse(tb testing.TB, n int, seed uint64) []Observation {
	tb.Helper()
	gpu := a100(tb)
	rng := rand.New(rand.NewPCG(seed, 0x757365))
	obs := make([]Observation, n)
	for i := range obs {
		spec := madeUpSpec(rng, profile.CNN)
		activations, _ := spec.Model.Activations()
		work := math.Log1p(float64(activations) * float64(spec.Training.BatchSize))
		busy := 1 / (1 + math.Exp(14-work+0.2*rng.NormFloat64()))
		obs[i] = Observation{Spec: spec, GPU: gpu, Use: profile.Sample{
			SMActive: profile.Some(0.9 * busy), SMOccupancy: profile.Some(0.4 * busy), GPUBusy: profile.Some(busy),
		}}
	}
	return obs
}

// fitMadeUpUse is a model that never changes, fitted once for all tests.
func fitMadeUpUse(tb testing.TB) *Predictor {
	tb.Helper()
	madeUpUseOnce.Do(func() { madeUpUseModel, errMadeUpUse = Fit(madeUpUse(tb, 400, 1), nil) })
	if errMadeUpUse != nil {
		tb.Fatal(errMadeUpUse)
	}
	return madeUpUseModel
}

// What every test would compute again.
var (
	madeUpUseOnce  sync.Once
	madeUpUseModel *Predictor
	errMadeUpUse   error
)

func TestLearns(t *testing.T) {
	u := fitMadeUpUse(t)
	gpu := a100(t)
	var seen, said []float64
	inside := 0
	fresh := madeUpUse(t, 1000, 2)
	for _, o := range fresh {
		s, err := u.Solo(&o.Spec, &gpu)
		if err != nil {
			t.Fatal(err)
		}
		v := o.Use.SMActive.Or(0)
		seen, said = append(seen, v), append(said, s.SMActive.Value)
		if v >= s.SMActive.Lo && v <= s.SMActive.Hi {
			inside++
		}
		if s.SMActive.Source.Kind != predict.Fitted || s.DRAMActive.Source.Kind != predict.Prior {
			t.Fatalf("sources: SM %v, DRAM %v", s.SMActive.Source, s.DRAMActive.Source)
		}
	}
	r, err := predict.Score(seen, said, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.R2 < 0.97 {
		t.Errorf("R2 on new tasks %.3f, want 0.97", r.R2)
	}
	if share := float64(inside) / float64(len(fresh)); share < 0.86 || share > 0.95 {
		t.Errorf("90 %% intervals hold %.2f", share)
	}
}

func TestOtherGPU(t *testing.T) {
	u := fitMadeUpUse(t)
	here := a100(t)
	there, ok := profile.LookupGPU("T4")
	if !ok {
		t.Fatal("no T4 in the catalogue")
	}
	o := madeUpUse(t, 1, 3)[0]
	a, err := u.Solo(&o.Spec, &here)
	if err != nil {
		t.Fatal(err)
	}
	b, err := u.Solo(&o.Spec, &there)
	if err != nil {
		t.Fatal(err)
	}
	if b.SMActive.Source.Distance < 2 || b.GPUBusy.Hi-b.GPUBusy.Lo < a.GPUBusy.Hi-a.GPUBusy.Lo {
		t.Errorf("another GPU must be further from the data and less sure: %+v, %+v", a.GPUBusy, b.GPUBusy)
	}
}

func TestNeverAbsurd(t *testing.T) {
	models := []*Predictor{fitMadeUpUse(t), {}}
	gpu := a100(t)
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		for _, u := range models {
			s, err := u.Solo(&spec, &gpu)
			if _, known := spec.Model.Activations(); !known {
				if err == nil {
					t.Fatal("no layers: no error")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range []predict.Estimate{s.SMActive, s.SMOccupancy, s.DRAMActive, s.GPUBusy} {
				if !(0 <= e.Lo && e.Lo <= e.Value && e.Value <= e.Hi && e.Hi <= 1) {
					t.Fatalf("estimate %+v", e)
				}
			}
		}
	})
}

func TestSaveLoadAllocs(t *testing.T) {
	u := fitMadeUpUse(t)
	var a, b bytes.Buffer
	if err := u.Save(&a); err != nil {
		t.Fatal(err)
	}
	back, err := Load(bytes.NewReader(a.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := back.Save(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("reading and writing changes the file")
	}
	o := madeUpUse(t, 1, 4)[0]
	if n := testing.AllocsPerRun(100, func() {
		if _, err := back.Solo(&o.Spec, &o.GPU); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Solo allocates %v times", n)
	}
}

func TestBadInput(t *testing.T) {
	good := madeUpUse(t, 60, 5)
	for _, tt := range []struct {
		name, want string
		change     func(*Observation)
	}{
		{"beyond 1", "sm_active is 1.5", func(o *Observation) { o.Use.SMActive = profile.Some(1.5) }},
		{"below 0", "dram_active is -0.1", func(o *Observation) { o.Use.DRAMActive = profile.Some(-0.1) }},
		{"NaN", "gpu_busy is NaN", func(o *Observation) { o.Use.GPUBusy = profile.Some(math.NaN()) }},
		{"no batch", "batch_size", func(o *Observation) { o.Spec.Training.BatchSize = 0 }},
		{"no GPU", "no FP32 rate or bandwidth", func(o *Observation) { o.GPU = profile.GPUModel{} }},
		{"no bandwidth", "no FP32 rate or bandwidth", func(o *Observation) { o.GPU = profile.GPUModel{Name: "own", FP32: 1e13} }},
		{"no rate", "no FP32 rate or bandwidth", func(o *Observation) { o.GPU = profile.GPUModel{Name: "own", BandwidthBytesPerSec: 1e12} }},
		{"two GPUs", "fit one model each", func(o *Observation) { o.GPU.Name = "other" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			obs := append([]Observation(nil), good...)
			tt.change(&obs[3])
			if _, err := Fit(obs, nil); err == nil || !strings.Contains(err.Error(), "observation 3") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q of observation 3", err, tt.want)
			}
		})
	}
	if _, err := Fit(good[:10], nil); err == nil {
		t.Error("ten observations: no error")
	}
	if _, err := (&Predictor{}).Solo(nil, nil); err == nil {
		t.Error("nil: no error")
	}
	gpu, slow := a100(t), profile.GPUModel{Name: "own", FP32: 1e13}
	if _, err := (&Predictor{}).Solo(&good[0].Spec, &slow); err == nil || !strings.Contains(err.Error(), "bandwidth 0 must be positive") {
		t.Errorf("no bandwidth: %v", err)
	}
	none := good[0].Spec
	none.Training.BatchSize = 0
	if _, err := (&Predictor{}).Solo(&none, &gpu); err == nil || !strings.Contains(err.Error(), "batch_size") {
		t.Errorf("no batch: %v", err)
	}
	byName, err := (&Predictor{}).Solo(&good[0].Spec, &profile.GPUModel{Name: gpu.Name})
	if full, _ := (&Predictor{}).Solo(&good[0].Spec, &gpu); err != nil || byName != full {
		t.Errorf("by its name alone: %+v, %v, want %+v", byName, err, full)
	}
}

// TestLoadRefuses: of a file that somebody changed it is told what is wrong.
func TestLoadRefuses(t *testing.T) {
	var saved bytes.Buffer
	if err := fitMadeUpUse(t).Save(&saved); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(bytes.NewReader(saved.Bytes())); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(f *file)
		want   string
	}{
		"another format":   {func(f *file) { f.Format = "memory" }, "fit the model again"},
		"another version":  {func(f *file) { f.Version++ }, "fit the model again"},
		"no part":          {func(f *file) { f.Parts[0].Part = nil }, "is empty or appears twice"},
		"a part twice":     {func(f *file) { f.Parts = append(f.Parts, f.Parts[0]) }, "is empty or appears twice"},
		"no such quantity": {func(f *file) { f.Parts[0].Quantity = "heat" }, `unknown quantity "heat"`},
		"no trees":         {func(f *file) { f.Parts[0].Part.Mean = nil }, "no trees"},
		"other trees":      {func(f *file) { f.Parts[0].Part.Mean.Columns-- }, "trees over"},
		"negative spread":  {func(f *file) { f.Parts[0].Part.Flat = -1 }, "out of range"},
		"negative rows":    {func(f *file) { f.Parts[0].Part.Rows = -1 }, "out of range"},
		"a range less":     {func(f *file) { p := f.Parts[0].Part; p.Lo = p.Lo[1:] }, "feature bounds"},
		"a range too many": {func(f *file) { p := f.Parts[0].Part; p.Lo, p.Hi = append(p.Lo, 0), append(p.Hi, 0) }, "feature bounds"},
		"a range reversed": {func(f *file) { p := f.Parts[0].Part; p.Lo[2] = p.Hi[2] + 1 }, "feature 2 has range"},
	} {
		var f file
		if err := json.Unmarshal(saved.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		c.change(&f)
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(bytes.NewReader(data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	bare := strings.NewReader(`{"format": "` + format + `", "version": ` + strconv.Itoa(version) + `, "parts": [{"quantity": "sm_active", "part": {"mean": {"columns": 22}}}]}`)
	if _, err := Load(bare); err != nil {
		t.Errorf("no rows, no ranges and no spread: %v", err)
	}
	if _, err := Load(strings.NewReader(strings.Replace(saved.String(), "{", `{"colour": 1,`, 1))); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("an unknown key: %v", err)
	}
}

func BenchmarkSolo(b *testing.B) {
	u := fitMadeUpUse(b)
	o := madeUpUse(b, 1, 6)[0]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := u.Solo(&o.Spec, &o.GPU); err != nil {
			b.Fatal(err)
		}
	}
}

// TestBusyIsSolo checks that the short form says the same.
func TestBusyIsSolo(t *testing.T) {
	u, gpu := fitMadeUpUse(t), a100(t)
	for i, o := range madeUpUse(t, 20, 7) {
		solo, err := u.Solo(&o.Spec, &gpu)
		if err != nil {
			t.Fatal(err)
		}
		busy, dram, err := u.Busy(&o.Spec, &gpu)
		if err != nil || busy != solo.GPUBusy || dram != solo.DRAMActive {
			t.Errorf("task %d: Busy = %v, %v, %v; Solo says %v, %v", i, busy, dram, err, solo.GPUBusy, solo.DRAMActive)
		}
	}
	if _, _, err := u.Busy(nil, &gpu); err == nil {
		t.Error("Busy(nil) gave no error")
	}
}

// madeUpSpec draws a network whose layers shrink.
func madeUpSpec(rng *rand.Rand, family profile.Family) profile.Spec {
	kind := profile.Linear
	if family == profile.CNN {
		kind = profile.Conv
	}
	var layers []profile.Layer
	out := int64(100 + rng.IntN(40_000))
	for range 1 + rng.IntN(12) {
		layers = append(layers,
			profile.Layer{Name: "l", Kind: kind, Params: int64(1 + rng.IntN(3_000_000)), Activations: out, Neurons: 64},
			profile.Layer{Name: "ReLU", Kind: profile.Activation, Activations: out})
		out = max(1, out*int64(3+rng.IntN(7))/10)
	}
	return profile.Spec{
		Model:    profile.Model{Name: "made up", Family: family, Layers: layers},
		Training: profile.Training{BatchSize: 1 + rng.IntN(256), Optimizer: profile.Adam},
	}
}

func drawSpec(t *rapid.T) profile.Spec {
	kinds := []profile.LayerKind{profile.Conv, profile.Linear, profile.Norm, profile.Activation, profile.Dropout, profile.Pool, profile.Attention, profile.OtherLayer}
	var layers []profile.Layer
	for range rapid.IntRange(0, 8).Draw(t, "layers") {
		layers = append(layers, profile.Layer{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Params: rapid.Int64Range(0, 1e9).Draw(t, "params"),
			Activations: rapid.Int64Range(0, 1e7).Draw(t, "activations"), InPlace: rapid.Bool().Draw(t, "in place"),
		})
	}
	spec := profile.Spec{
		Model: profile.Model{Layers: layers, Family: profile.Family(rapid.IntRange(0, profile.Families-1).Draw(t, "family"))},
		Training: profile.Training{
			BatchSize: rapid.IntRange(1, 4096).Draw(t, "batch"), Optimizer: profile.Adam,
			Precision:     profile.Precision(rapid.IntRange(0, profile.Precisions-1).Draw(t, "precision")),
			Checkpointing: rapid.Bool().Draw(t, "checkpointing"),
			GPUs:          rapid.IntRange(0, 8).Draw(t, "gpus"),
			Parallelism:   profile.Parallelism(rapid.IntRange(0, profile.Parallelisms-1).Draw(t, "parallelism")),
		},
	}
	if rapid.Bool().Draw(t, "traced") {
		spec.Traced.AfterForward = profile.Some(profile.Bytes(rapid.Int64Range(0, 1e12).Draw(t, "forward")))
	}
	return spec
}

// FuzzLoad reads anything as a model and asks what was accepted.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"format":"colloc-utilization","version":1,"gpu":"g","parts":[{"family":"cnn","quantity":"sm_active","part":{"mean":{"columns":22,"base":0.5},"flat":0.1}}]}`))
	spec := madeUpSpec(rand.New(rand.NewPCG(1, 1)), profile.CNN)
	gpu := profile.GPUModel{Name: "g", FP32: 1e13, BandwidthBytesPerSec: 1e12}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := Load(bytes.NewReader(data)); err == nil {
			if use, err := m.Solo(&spec, &gpu); err == nil {
				checkLoaded(t, use.SMActive)
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
