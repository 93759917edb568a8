package profile

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// wantFeatures checks the given features and that all others are missing.
func wantFeatures(t *testing.T, v Vector, want map[Feature]float64) {
	t.Helper()
	for f := Feature(0); int(f) < FeatureCount; f++ {
		got, ok := v.Get(f)
		w, listed := want[f]
		switch {
		case ok != listed:
			t.Errorf("%v: known %t (%v), want %t", f, ok, got, listed)
		case ok && !(math.Abs(got-w) <= 1e-12*math.Abs(w)):
			t.Errorf("%v: got %v, want %v", f, got, w)
		}
	}
}

func TestNewDescribes(t *testing.T) {
	p, err := New(fullSpec(), Trace{}, GPUModel{})
	if err != nil {
		t.Fatal(err)
	}
	wantFeatures(t, p.Vector, map[Feature]float64{
		LayerCount: 3, DepthCount: 2, NeuronCount: 18, ParamCount: 8090, TrainableParamCount: 8090, ActivationCount: 1610, LinearActivationCount: 10,
		ConvActivationCount: 800, NormActivationCount: 0, NonlinearActivationCount: 800, DropoutActivationCount: 0,
		AttentionActivationCount: 0, LargestLayerCount: 800, ForwardMACs: 16010, SampleElementCount: 784,
		SampleCount: 60_000, BatchSize: 64, ElementSize: 2, WorkerCount: 4,
		LinearLayerCount: 1, ConvLayerCount: 1, NormLayerCount: 0, NonlinearLayerCount: 1, DropoutLayerCount: 0, PoolLayerCount: 0,
		EmbeddingLayerCount: 0, AttentionLayerCount: 0, RecurrentLayerCount: 0, LinearParamCount: 8010, ConvParamCount: 80,
		NormParamCount: 0, EmbeddingParamCount: 0, RecurrentParamCount: 0, LinearNeuronCount: 10, ConvNeuronCount: 8,
		ActivationBytes: (800 + 10) * 64 * 2, StepFLOPs: 2 * 16010 * 64 * 4, OptimizerStates: 1, Checkpointed: 1, GPUCount: 2,
		ArithmeticIntensity: 2 * 16010 * 64 / (8090*2 + 810*64*2.0), DatasetBytes: 60_000 * 784,
	})
}

func TestNewWithoutLayersStaysMissing(t *testing.T) {
	p, err := New(Spec{Training: Training{BatchSize: 8}}, Trace{}, GPUModel{})
	if err != nil {
		t.Fatal(err)
	}
	wantFeatures(t, p.Vector, map[Feature]float64{BatchSize: 8, ElementSize: 4, WorkerCount: 0, OptimizerStates: 2, Checkpointed: 0, GPUCount: 1})
}

// TestNewWeighs has a window of 3 s and an instant, which counts as 1 s; a
// counter that only one sample has is averaged over that one.
func TestNewWeighs(t *testing.T) {
	trace := Trace{Samples: []Sample{
		{
			Window: 3 * time.Second, GPUBusy: Some(0.8), SMActive: Some(0.4), MemUsed: Some(2 * GiB), PowerWatts: Some(100.0),
			StepTime: Some(30 * time.Millisecond),
		},
		{GPUBusy: Some(0.4), MemUsed: Some(3 * GiB), PowerWatts: Some(200.0), StepTime: Some(10 * time.Millisecond)},
		{MemBusy: Some(0.0), StepTime: Some(20 * time.Millisecond)},
	}}
	p, err := New(Spec{Training: Training{BatchSize: 1}}, trace, GPUModel{PowerWatts: 250})
	if err != nil {
		t.Fatal(err)
	}
	wantFeatures(t, p.Vector, map[Feature]float64{
		BatchSize: 1, ElementSize: 4, WorkerCount: 0, OptimizerStates: 2, Checkpointed: 0, GPUCount: 1,
		MeanMemory: 2.25 * float64(GiB), P95GPUBusy: 0.8, P95SMActive: 0.4, P95Memory: float64(3 * GiB), P95PowerWatts: 200,
		PeakSMActive: 0.4, PeakPowerWatts: 200,
		MeanGPUBusy: 0.7, PeakGPUBusy: 0.8, MeanSMActive: 0.4, MeanMemBusy: 0, PeakMemory: float64(3 * GiB),
		MeanPowerWatts: 125, BusyPower: 0.5, MedianStepTime: 0.02,
	})
}

func TestNewMeanStaysInRange(t *testing.T) {
	trace := Trace{}
	for range 1000 {
		trace.Samples = append(trace.Samples, Sample{Window: time.Second / 10, GPUBusy: Some(1.0)})
	}
	p, err := New(Spec{Training: Training{BatchSize: 1}}, trace, GPUModel{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := p.Vector.Get(MeanGPUBusy); got > 1 || got < 1-1e-12 {
		t.Errorf("got %v", got)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		sample Sample
		want   string
	}{
		{"NaN", Sample{GPUBusy: Some(math.NaN())}, "sample 0: profile: feature mean_gpu_busy is NaN"},
		{"per cent", Sample{SMActive: Some(93.0)}, "mean_sm_active is 93, want 0 to 1"},
		{"negative ratio", Sample{DRAMActive: Some(-0.1)}, "mean_dram_active is -0.1"},
		{"infinite power", Sample{PowerWatts: Some(math.Inf(1))}, "mean_power is +Inf"},
		{"negative memory", Sample{MemUsed: Some(Bytes(-1))}, "mean_memory is -1"},
		{"negative window", Sample{Window: -time.Second, GPUBusy: Some(0.5)}, "window is -1s"},
		{"no step time", Sample{StepTime: Some(time.Duration(0))}, "step time is 0s, want more than 0"},
		{"overflow", Sample{Window: math.MaxInt64, PowerWatts: Some(math.MaxFloat64)}, "mean_power is +Inf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := New(fullSpec(), Trace{Samples: []Sample{c.sample}}, GPUModel{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if p.Vector != (Vector{}) {
				t.Error("a refused task has a vector")
			}
		})
	}
}

func TestElementBytes(t *testing.T) {
	for p, want := range map[Precision]float64{FP32: 4, TF32: 4, Mixed: 2, BF16: 2, FP16: 2, Precision(99): 4} {
		if got := p.ElementBytes(); got != want {
			t.Errorf("%v: got %v, want %v", p, got, want)
		}
	}
}

func TestTraceJSONRoundTrip(t *testing.T) {
	want := Trace{
		Samples: []Sample{
			{
				At: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Window: time.Second, SMActive: Some(0.1), SMOccupancy: Some(0.2),
				TensorActive: Some(0.3), DRAMActive: Some(0.4), GPUBusy: Some(0.5), MemBusy: Some(0.6), FP32Active: Some(0.7),
				CPUBusy: Some(0.8), MemUsed: Some(GiB), PowerWatts: Some(1.0), EnergyJoules: Some(2.0), SMClockMHz: Some(3.0),
				TempCelsius: Some(4.0), PCIeBytesPerSec: Some(5.0), StepTime: Some(time.Millisecond),
			},
			{GPUBusy: Some(0.0)},
			{},
		},
		Labels: map[string]string{"job": "7"},
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Trace
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, exportOpts, cmp.AllowUnexported(Opt[time.Duration]{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProfileJSONRoundTrip(t *testing.T) {
	gpu, _ := LookupGPU("A100")
	want, err := New(fullSpec(), Trace{Samples: []Sample{{GPUBusy: Some(0.5), PowerWatts: Some(100.0)}}}, gpu)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Profile
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, exportOpts, cmp.AllowUnexported(Vector{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func ExampleNew() {
	spec := Spec{
		Model:    Model{Name: "mlp", Layers: []Layer{{Kind: Linear, Neurons: 10, Params: 7850, Activations: 10}}},
		Training: Training{BatchSize: 64},
	}
	trace := Trace{Samples: []Sample{
		{Window: time.Second, GPUBusy: Some(0.30), MemUsed: Some(900 * MiB)},
		{Window: time.Second, GPUBusy: Some(0.50), MemUsed: Some(950 * MiB)},
	}}
	gpu, _ := LookupGPU("T4")
	p, err := New(spec, trace, gpu)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range []Feature{ParamCount, MeanGPUBusy, PeakMemory, MeanSMActive} {
		x, ok := p.Vector.Get(f)
		fmt.Printf("%v %.4g %s %t\n", f, x, f.Info().Unit, ok)
	}
	// Output:
	// params 7850 count true
	// mean_gpu_busy 0.4 1 true
	// peak_memory 9.961e+08 B true
	// mean_sm_active 0 1 false
}

func BenchmarkNew(b *testing.B) {
	spec, gpu := fullSpec(), GPUs()[0]
	for len(spec.Model.Layers) < 300 {
		spec.Model.Layers = append(spec.Model.Layers, spec.Model.Layers[0])
	}
	trace := Trace{Samples: make([]Sample, 1000)}
	for i := range trace.Samples {
		trace.Samples[i] = Sample{Window: time.Second, GPUBusy: Some(0.5), MemUsed: Some(GiB), PowerWatts: Some(100.0)}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(spec, trace, gpu); err != nil {
			b.Fatal(err)
		}
	}
}

// steadyTrace has one sample a second: idle for the first, then busy.
func steadyTrace(idle, busy int) Trace {
	var t Trace
	start := time.Unix(1_700_000_000, 0)
	for i := range idle + busy {
		s := Sample{At: start.Add(time.Duration(i) * time.Second), GPUBusy: Some(0.05), MemUsed: Some(GiB)}
		if i >= idle {
			s.GPUBusy, s.MemUsed = Some(0.8), Some(4*GiB)
		}
		t.Samples = append(t.Samples, s)
	}
	return t
}

func TestWarmUpIsTrimmed(t *testing.T) {
	for _, c := range []struct {
		name       string
		idle, busy int
		mean       float64
	}{
		{"none", 0, 20, 0.8},
		{"short", 3, 37, 0.8},
		{"at most a fifth of the time", 40, 60, (20*0.05 + 60*0.8) / 80},
		{"few samples", 2, 6, (2*0.05 + 6*0.8) / 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := New(Spec{Training: Training{BatchSize: 1}}, steadyTrace(c.idle, c.busy), GPUModel{Memory: 8 * GiB})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Vector.Or(MeanGPUBusy, -1); !(math.Abs(got-c.mean) <= 1e-12) {
				t.Errorf("mean: got %v, want %v", got, c.mean)
			}
			if got := p.Vector.Or(MemoryShare, -1); got != 0.5 {
				t.Errorf("memory share: got %v", got)
			}
		})
	}
}

// TestGapsDoNotCount has a hole of an hour in a log of seconds: the sample
// behind it stands for three seconds, not for the hour.
func TestGapsDoNotCount(t *testing.T) {
	trace := steadyTrace(0, 8)
	last := trace.Samples[7]
	last.At, last.GPUBusy = last.At.Add(time.Hour), Some(0.0)
	trace.Samples = append(trace.Samples, last)
	p, err := New(Spec{Training: Training{BatchSize: 1}}, trace, GPUModel{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Vector.Or(MeanGPUBusy, -1), 8*0.8/11; !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSlowStartIsWarmUp: what works at less than half of the usual level has not begun, what
// works at half of it has.
func TestSlowStartIsWarmUp(t *testing.T) {
	for level, want := range map[float64]float64{0.35: 0.8, 0.4: (5*0.4 + 35*0.8) / 40, 0.45: (5*0.45 + 35*0.8) / 40} {
		trace := steadyTrace(5, 35)
		for i := range 5 {
			trace.Samples[i].GPUBusy = Some(level)
		}
		p, err := New(Spec{Training: Training{BatchSize: 1}}, trace, GPUModel{})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Vector.Or(MeanGPUBusy, -1); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("a start at %v: mean %v, want %v", level, got, want)
		}
	}
}

// TestInstantsCountUpToTheNext: an instant stands for the time since the one before,
// the first one for a usual step.
func TestInstantsCountUpToTheNext(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		seconds []int
		busy    []float64
		want    float64
	}{
		{[]int{0, 1, 4}, []float64{0.8, 0.8, 0.2}, (0.8 + 0.8 + 3*0.2) / 5},
		{[]int{0, 1, 3, 5}, []float64{0.2, 0.8, 0.8, 0.8}, (2*0.2 + 5*0.8) / 7},
	} {
		var trace Trace
		for i, s := range c.seconds {
			trace.Samples = append(trace.Samples, Sample{At: at.Add(time.Duration(s) * time.Second), GPUBusy: Some(c.busy[i])})
		}
		p, err := New(Spec{Training: Training{BatchSize: 1}}, trace, GPUModel{})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Vector.Or(MeanGPUBusy, -1); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("at %v: mean %v, want %v", c.seconds, got, c.want)
		}
	}
}

func TestPercentileIsOfTime(t *testing.T) {
	// 94 s at 0.5 in one window, six instants of one second above.
	trace := Trace{Samples: []Sample{{Window: 94 * time.Second, SMActive: Some(0.5)}}}
	for i := range 6 {
		trace.Samples = append(trace.Samples, Sample{Window: time.Second, SMActive: Some(0.6 + float64(i)/20)})
	}
	p, err := New(Spec{Training: Training{BatchSize: 1}}, trace, GPUModel{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Vector.Or(P95SMActive, -1); got != 0.6 {
		t.Errorf("95th percentile: got %v, want 0.6", got)
	}
	if got := p.Vector.Or(PeakSMActive, -1); got != 0.85 {
		t.Errorf("peak: got %v, want 0.85", got)
	}
}

// TestDerivedFromBoth: what follows from two things is missing where one of them is, and
// shares of a data sheet end at twice the whole.
func TestDerivedFromBoth(t *testing.T) {
	layer := Layer{Kind: Linear, Params: 10, Activations: 10, MACs: Some[int64](10)}
	dark, still := layer, layer
	dark.Activations, dark.Unknown = 0, ActivationCounts
	still.MACs = Opt[int64]{}
	sheet := GPUModel{Memory: GiB, PowerWatts: 300}
	hot := Sample{PowerWatts: Some(900.0), MemUsed: Some(3 * GiB)}
	for _, c := range []struct {
		name   string
		layer  Layer
		sample Sample
		gpu    GPUModel
		want   map[Feature]float64 // -1 is missing
	}{
		{"all", layer, hot, sheet, map[Feature]float64{StepFLOPs: 60, BusyPower: 2, MemoryShare: 2}},
		{"no activations", dark, Sample{}, sheet, map[Feature]float64{StepFLOPs: -1, ArithmeticIntensity: -1, BusyPower: -1, MemoryShare: -1}},
		{"no multiply-adds", still, hot, GPUModel{}, map[Feature]float64{StepFLOPs: -1, ArithmeticIntensity: -1, BusyPower: -1, MemoryShare: -1}},
	} {
		p, err := New(Spec{Model: Model{Layers: []Layer{c.layer}}, Training: Training{BatchSize: 1}}, Trace{Samples: []Sample{c.sample}}, c.gpu)
		if err != nil {
			t.Fatal(err)
		}
		for f, want := range c.want {
			if got := p.Vector.Or(f, -1); got != want {
				t.Errorf("%s: %v is %v, want %v", c.name, f, got, want)
			}
		}
	}
}

func TestDerivedFeatures(t *testing.T) {
	spec := Spec{
		Model:    Model{Layers: []Layer{{Kind: Linear, Params: 1_000_000, Activations: 1000, MACs: Some[int64](1_000_000)}}},
		Training: Training{BatchSize: 100, Optimizer: SGD},
	}
	gpu := GPUModel{BandwidthBytesPerSec: 1e12, FP32: 1e13, TF32: 1e14, BF16: 2e14}
	trace := Trace{Samples: []Sample{{DRAMActive: Some(0.25), StepTime: Some(time.Millisecond)}}}
	p, err := New(spec, trace, gpu)
	if err != nil {
		t.Fatal(err)
	}
	const flops, bytes = 6e8, 3 * (4e6 + 4e5)
	for f, want := range map[Feature]float64{
		StepFLOPs: flops, ArithmeticIntensity: flops / bytes, ComputeTime: flops / 1e13, BandwidthTime: bytes / 1e12,
		FLOPShare: 0.06, DRAMTraffic: 0.25e12, OptimizerStates: 0,
	} {
		if got := p.Vector.Or(f, -1); !(math.Abs(got-want) <= 1e-9*want) {
			t.Errorf("%v: got %v, want %v", f, got, want)
		}
	}
	for precision, want := range map[Precision]float64{FP32: 1e13, TF32: 1e14, Mixed: 2e14, BF16: 2e14, FP16: 2e14} {
		if got := gpu.Rate(precision); got != want {
			t.Errorf("%v: got %v, want %v", precision, got, want)
		}
	}
}

// TestTwoInstants: of two readings without a window each stands for the time between them.
func TestTwoInstants(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, gap := range []time.Duration{time.Second, 20 * time.Second} {
		p, err := New(Spec{Training: Training{BatchSize: 1}}, Trace{Samples: []Sample{{At: at, GPUBusy: Some(0.0)}, {At: at.Add(gap), GPUBusy: Some(1.0)}}}, GPUModel{})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Vector.Or(MeanGPUBusy, -1); got != 0.5 {
			t.Errorf("%v apart: the mean of 0 and 1 is %v", gap, got)
		}
	}
}
