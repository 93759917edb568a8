package interference

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// served returns a task that keeps the GPU busy for so much of the time at a load.
func served(t *testing.T, name string, busy, load float64) *profile.Profile {
	t.Helper()
	p := fakeTask(t, name, 1, busy, busy/2, 1)
	p.Spec.Server = &profile.Server{Rate: 100 * load, Capacity: 100, Even: true}
	return p
}

// TestServers: beside a server a training gives it its time and has the rest; more load,
// more use and more company never raise a speed, and a server that is seldom asked costs
// next to nothing.
func TestServers(t *testing.T) {
	gpu, _ := profile.LookupGPU("A100-40GB")
	for name, m := range map[string]*Predictor{"prior": {}, "pretrained": pretrainedFile(t)} {
		rng := rand.New(rand.NewPCG(40, 4))
		for _, mech := range []profile.Mechanism{profile.TimeSlice, profile.MPS} {
			ask := func(set ...*profile.Profile) []float64 {
				v, err := m.Values(&gpu, mech, set, nil)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			for range 300 {
				load, busy, use := 0.05+0.9*rng.Float64(), rng.Float64(), rng.Float64()
				training, server := fakeTask(t, "", 8, use, use/2, 1), served(t, "", busy*load, load)
				pair := ask(training, server)
				if !(pair[0] > 0 && pair[0] <= 1 && pair[1] > 0 && pair[1] <= 1) {
					t.Fatalf("%s, %v: speeds %v", name, mech, pair)
				}
				more := min(1, load*(1+rng.Float64()))
				for what, worse := range map[string][]float64{
					"load":  ask(training, served(t, "", busy*more, more)),
					"use":   ask(training, served(t, "", min(1, busy*1.2)*load, load)),
					"joins": ask(training, server, fakeTask(t, "", 8, rng.Float64(), 0.2, 1)),
				} {
					if worse[0] > pair[0]+1e-9 || what == "joins" && worse[1] > pair[1]+1e-9 {
						t.Fatalf("%s, %v: %s: %v after %v (busy %v, load %v beside %v)", name, mech, what, worse, pair, busy, load, use)
					}
				}
				if idle := ask(training, served(t, "", 0.001, 0.001)); idle[0] < 0.99 {
					t.Fatalf("%s, %v: a server that nobody asks leaves %v", name, mech, idle[0])
				}
			}
		}
	}
}

// TestServersTeach: an answer that was seen to take long beside a training says how fast
// that training is, too.
func TestServersTeach(t *testing.T) {
	gpu, _ := profile.LookupGPU("A100-40GB")
	set := []*profile.Profile{fakeTask(t, "trained", 8, 0.95, 0.3, 1), served(t, "asked", 0.45, 0.5)}
	var m Predictor
	before := mustSpeedsBy(t, &m, gpu, set)
	for range 4 {
		if err := m.Observe(Observation{GPU: gpu.Name, Mechanism: profile.MPS, Set: set, Speeds: []profile.Opt[float64]{{}, profile.Some(0.25)}}); err != nil {
			t.Fatal(err)
		}
	}
	after := mustSpeedsBy(t, &m, gpu, set)
	if !(after[1].Value < before[1].Value-0.1) || !(after[0].Value > before[0].Value) {
		t.Errorf("speeds %v before an answer took four times as long, %v after", before, after)
	}
	if !(before[0].Hi-before[0].Lo > 0.2) || before[0].Source.Kind != predict.Prior {
		t.Errorf("the law of a few pairs promises %+v", before[0])
	}
}

func mustSpeedsBy(t *testing.T, m *Predictor, gpu profile.GPUModel, set []*profile.Profile) []predict.Estimate {
	t.Helper()
	e, err := m.Speeds(&gpu, profile.MPS, set, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestLatency: by hand, of requests that come evenly and at random.
func TestLatency(t *testing.T) {
	even := profile.Server{Rate: 100, Capacity: 250, Even: true, Limit: 10 * time.Millisecond}
	random := even
	random.Even = false
	half := predict.Estimate{Value: 0.5, Lo: 0.25, Hi: 1}
	for _, tt := range []struct {
		server          profile.Server
		mech            profile.Mechanism
		mean, slow, p99 float64
	}{
		{even, profile.TimeSlice, 0.008, 0.016, 0.00962},
		{even, profile.MPS, 0.008, 0.016, 0.01712},
		{even, profile.Exclusive, 0.008, 0.016, 0.00812},
		{random, profile.TimeSlice, 0.04, math.Inf(1), 0.04*1.015*math.Log(100) + 0.0015},
	} {
		mean, p99 := Latency(&tt.server, tt.mech, half)
		if math.Abs(mean.Value-tt.mean) > 1e-12 || mean.Hi != tt.slow || !(mean.Lo < mean.Value) || math.Abs(p99.Value-tt.p99) > 1e-12 || !(p99.Hi > p99.Value) {
			t.Errorf("%+v, %v: mean %+v, p99 %+v", tt.server, tt.mech, mean, p99)
		}
	}
}
