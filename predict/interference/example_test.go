package interference_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// solo describes a task by what nvidia-smi showed while it ran alone.
func solo(model string, gpuBusy, memBusy float64) *profile.Profile {
	p, err := profile.New(
		profile.Spec{Model: profile.Model{Name: model}, Training: profile.Training{BatchSize: 32}},
		profile.Trace{Samples: []profile.Sample{{GPUBusy: profile.Some(gpuBusy), MemBusy: profile.Some(memBusy)}}},
		profile.GPUModel{})
	if err != nil {
		fmt.Println(err)
	}
	return &p
}

// A model that has seen nothing answers by the prior; every co-run improves it.
func ExamplePredictor_Observe() {
	gpu, _ := profile.LookupGPU("RTX 3090")
	set := []*profile.Profile{solo("detector", 0.7, 0.3), solo("tagger", 0.6, 0.2)}
	var m interference.Predictor
	show := func(when string) {
		e, err := m.Speeds(&gpu, profile.TimeSlice, set, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %.2f beside the tagger (%v)\n", when, e[0].Value, e[0].Source.Kind)
	}
	show("before")
	for range 5 {
		err := m.Observe(interference.Observation{
			GPU: gpu.Name, Mechanism: profile.TimeSlice, Set: set,
			Speeds: []profile.Opt[float64]{profile.Some(0.93), {}}, // the tagger was not measured
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	show("after five co-runs")
	// Output:
	// before: 0.83 beside the tagger (prior)
	// after five co-runs: 0.92 beside the tagger (fitted)
}

// Explain says which neighbour costs what.
func ExamplePredictor_Explain() {
	gpu, _ := profile.LookupGPU("RTX 3090")
	set := []*profile.Profile{solo("detector", 0.7, 0.3), solo("tagger", 0.6, 0.2), solo("logger", 0.1, 0)}
	var m interference.Predictor
	parts, err := m.Explain(&gpu, profile.TimeSlice, set, 0)
	if err != nil {
		fmt.Println(err)
	}
	for _, p := range parts {
		fmt.Printf("%s, %v: %.3f\n", set[p.Neighbour].Spec.Model.Name, p.Resource, p.Loss)
	}
	// Output:
	// tagger, sm time: 0.194
	// tagger, memory traffic: 0.026
	// logger, sm time: 0.025
}

// Under MPS a cap on the neighbour's threads leaves more for the own task.
func ExamplePredictor_Capped() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	set := []*profile.Profile{solo("detector", 0.7, 0.3), solo("tagger", 0.9, 0.2)}
	var m interference.Predictor
	for _, caps := range [][]float64{nil, {1, 0.5}} {
		e, err := m.Capped(&gpu, set, caps, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("caps %v: %.2f and %.2f\n", caps, e[0].Value, e[1].Value)
	}
	// Output:
	// caps []: 0.79 and 0.77
	// caps [1 0.5]: 0.93 and 0.40
}

// A server that gets half of the requests that it could serve, beside a training.
func ExampleLatency() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	server := solo("answers", 0.45, 0.1)
	server.Spec.Server = &profile.Server{Rate: 120, Capacity: 240, Even: true, Limit: 20 * time.Millisecond}
	var m interference.Predictor
	for _, mech := range []profile.Mechanism{profile.TimeSlice, profile.MPS} {
		e, err := m.Speeds(&gpu, mech, []*profile.Profile{solo("detector", 0.95, 0.3), server}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		mean, p99 := interference.Latency(server.Spec.Server, mech, e[1])
		fmt.Printf("%v: training at %.2f, answers in %.1f ms, 99 %% in %.1f ms\n", mech, e[0].Value, 1000*mean.Value, 1000*p99.Value)
	}
	// Output:
	// time-slicing: training at 0.50, answers in 9.2 ms, 99 % in 10.9 ms
	// mps: training at 0.81, answers in 8.2 ms, 99 % in 17.3 ms
}

// Archive keeps the co-runs too, so that what was read back can be fitted anew and says
// the same then; Save keeps what was learned and names no co-run.
func ExamplePredictor_Archive() {
	gpu, _ := profile.LookupGPU("RTX 3090")
	set := []*profile.Profile{solo("detector", 0.7, 0.3), solo("tagger", 0.6, 0.2)}
	var m interference.Predictor
	for range 5 {
		err := m.Observe(interference.Observation{
			GPU: gpu.Name, Mechanism: profile.TimeSlice, Set: set,
			Speeds: []profile.Opt[float64]{profile.Some(0.93), profile.Some(0.9)},
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	var file bytes.Buffer
	if err := m.Archive(&file); err != nil {
		fmt.Println(err)
	}
	again, err := interference.Load(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, one := range []*interference.Predictor{&m, again} {
		if err := one.Refit(context.Background()); err != nil {
			fmt.Println(err)
		}
	}
	a, _ := m.Speeds(&gpu, profile.TimeSlice, set, nil)
	b, _ := again.Speeds(&gpu, profile.TimeSlice, set, nil)
	fmt.Println(again.Regimes()[0].CoRuns, "co-runs, the same after a refit:", a[0] == b[0] && a[1] == b[1])
	// Output:
	// 5 co-runs, the same after a refit: true
}

// A scheduler that looks for one partner among many asks for a whole row of pairs.
func ExamplePredictor_Beside() {
	gpu, _ := profile.LookupGPU("RTX 3090")
	partners := []*profile.Profile{solo("tagger", 0.6, 0.2), solo("logger", 0.1, 0.05)}
	own, other := make([]float64, len(partners)), make([]float64, len(partners))
	var m interference.Predictor
	if err := m.Beside(&gpu, profile.TimeSlice, solo("detector", 0.7, 0.3), partners, own, other); err != nil {
		fmt.Println(err)
	}
	for j, p := range partners {
		fmt.Printf("beside %s %.2f, which has %.2f\n", p.Spec.Model.Name, own[j], other[j])
	}
	// Output:
	// beside tagger 0.83, which has 0.82
	// beside logger 0.99, which has 0.99
}

// Fit learns from a list of co-runs what Observe learns from one after the other.
func ExampleFit() {
	gpu, _ := profile.LookupGPU("RTX 3090")
	set := []*profile.Profile{solo("detector", 0.7, 0.3), solo("tagger", 0.6, 0.2)}
	var seen []interference.Observation
	for range 40 {
		seen = append(seen, interference.Observation{
			GPU: gpu.Name, Mechanism: profile.TimeSlice, Set: set,
			Speeds: []profile.Opt[float64]{profile.Some(0.93), profile.Some(0.9)},
		})
	}
	m, err := interference.Fit(seen, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := m.Speeds(&gpu, profile.TimeSlice, set, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f and %.2f, %v\n", e[0].Value, e[1].Value, e[0].Source.Kind)
	// Output:
	// 0.93 and 0.90, fitted
}
