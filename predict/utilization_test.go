package predict

import (
	"bytes"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"pgregory.net/rapid"

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
func madeUpUse(tb testing.TB, n int, seed uint64) []UtilizationObservation {
	tb.Helper()
	gpu := a100(tb)
	rng := rand.New(rand.NewPCG(seed, 0x757365))
	obs := make([]UtilizationObservation, n)
	for i := range obs {
		spec := madeUpSpec(rng, profile.CNN)
		work := math.Log1p(float64(spec.Model.Activations()) * float64(spec.Training.BatchSize))
		busy := 1 / (1 + math.Exp(14-work+0.2*rng.NormFloat64()))
		obs[i] = UtilizationObservation{Spec: spec, GPU: gpu, Use: profile.Sample{
			SMActive: profile.Some(0.9 * busy), SMOccupancy: profile.Some(0.4 * busy), GPUBusy: profile.Some(busy),
		}}
	}
	return obs
}

// fitMadeUpUse is a model that never changes, fitted once for all tests.
func fitMadeUpUse(tb testing.TB) *Utilization {
	tb.Helper()
	madeUpUseOnce.Do(func() { madeUpUseModel, errMadeUpUse = FitUtilization(madeUpUse(tb, 400, 1), nil) })
	if errMadeUpUse != nil {
		tb.Fatal(errMadeUpUse)
	}
	return madeUpUseModel
}

// What every test would compute again.
var (
	madeUpUseOnce  sync.Once
	madeUpUseModel *Utilization
	errMadeUpUse   error
)

func TestUtilizationLearns(t *testing.T) {
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
		if s.SMActive.Source.Kind != Fitted || s.DRAMActive.Source.Kind != Prior {
			t.Fatalf("sources: SM %v, DRAM %v", s.SMActive.Source, s.DRAMActive.Source)
		}
	}
	r, err := Score(seen, said, nil)
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

func TestUtilizationOtherGPU(t *testing.T) {
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

func TestUtilizationNeverAbsurd(t *testing.T) {
	models := []*Utilization{fitMadeUpUse(t), {}}
	gpu := a100(t)
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		for _, u := range models {
			s, err := u.Solo(&spec, &gpu)
			if spec.Model.Activations() == 0 {
				if err == nil {
					t.Fatal("no layers: no error")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range []Estimate{s.SMActive, s.SMOccupancy, s.DRAMActive, s.GPUBusy} {
				if !(0 <= e.Lo && e.Lo <= e.Value && e.Value <= e.Hi && e.Hi <= 1) {
					t.Fatalf("estimate %+v", e)
				}
			}
		}
	})
}

func TestUtilizationSaveLoadAllocs(t *testing.T) {
	u := fitMadeUpUse(t)
	var a, b bytes.Buffer
	if err := u.Save(&a); err != nil {
		t.Fatal(err)
	}
	back, err := LoadUtilization(bytes.NewReader(a.Bytes()))
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

func TestUtilizationBadInput(t *testing.T) {
	good := madeUpUse(t, 60, 5)
	for _, tt := range []struct {
		name   string
		change func([]UtilizationObservation)
	}{
		{"beyond 1", func(o []UtilizationObservation) { o[3].Use.SMActive = profile.Some(1.5) }},
		{"NaN", func(o []UtilizationObservation) { o[3].Use.GPUBusy = profile.Some(math.NaN()) }},
		{"no batch", func(o []UtilizationObservation) { o[3].Spec.Training.BatchSize = 0 }},
		{"no GPU", func(o []UtilizationObservation) { o[3].GPU = profile.GPUModel{} }},
		{"two GPUs", func(o []UtilizationObservation) { o[3].GPU.Name = "other" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			obs := append([]UtilizationObservation(nil), good...)
			tt.change(obs)
			if _, err := FitUtilization(obs, nil); err == nil {
				t.Error("no error")
			}
		})
	}
	if _, err := FitUtilization(good[:10], nil); err == nil {
		t.Error("ten observations: no error")
	}
	if _, err := (&Utilization{}).Solo(nil, nil); err == nil {
		t.Error("nil: no error")
	}
}

func TestObservedWins(t *testing.T) {
	s := SoloUse{SMActive: Estimate{Value: 0.5, Lo: 0.2, Hi: 0.8, Confidence: 0.9}, GPUBusy: Estimate{Value: 0.5, Lo: 0.2, Hi: 0.8, Confidence: 0.9}}
	seen := profile.Sample{SMActive: profile.Some(0.9)}
	long, short := s.Observed(&seen, 60), s.Observed(&seen, 0.5)
	if long.SMActive.Value != 0.9 || long.SMActive.Source.Kind != Measured || long.GPUBusy != s.GPUBusy {
		t.Errorf("a minute: %+v", long)
	}
	if v := short.SMActive.Value; v <= 0.5 || v >= 0.9 {
		t.Errorf("half a second gives %v, want between prediction and measurement", v)
	}
	var v profile.Vector
	if err := v.Set(profile.MeanSMActive, 0.1); err != nil {
		t.Fatal(err)
	}
	if err := s.Fill(&v); err != nil {
		t.Fatal(err)
	}
	if v.Or(profile.MeanSMActive, 0) != 0.1 || v.Or(profile.MeanGPUBusy, 0) != 0.5 {
		t.Error("Fill must keep what was measured and add what was not")
	}
}

func BenchmarkUtilizationSolo(b *testing.B) {
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
