package predict_test

import (
	"fmt"

	"example.com/colloc/predict"
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
func ExampleInterference_Observe() {
	gpu, _ := profile.LookupGPU("RTX 3090")
	set := []*profile.Profile{solo("detector", 0.7, 0.3), solo("tagger", 0.6, 0.2)}
	var m predict.Interference
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
		err := m.Observe(predict.SpeedObservation{
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
func ExampleInterference_Explain() {
	gpu, _ := profile.LookupGPU("RTX 3090")
	set := []*profile.Profile{solo("detector", 0.7, 0.3), solo("tagger", 0.6, 0.2), solo("logger", 0.1, 0)}
	var m predict.Interference
	parts, err := m.Explain(&gpu, profile.TimeSlice, set, 0)
	if err != nil {
		fmt.Println(err)
	}
	for _, p := range parts {
		fmt.Printf("%s, %v: %.3f\n", set[p.Neighbour].Spec.Model.Name, p.Resource, p.Loss)
	}
	// Output:
	// tagger, sm time: 0.173
	// tagger, memory traffic: 0.028
	// logger, sm time: 0.016
}

func ExampleMIGSpeed_Speed() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	var m predict.MIGSpeed // nothing fitted: the prior; see package pretrained
	for _, slice := range gpu.MIG {
		e, err := m.Speed(nil, &gpu, slice)
		if err != nil {
			fmt.Println(err)
			return
		}
		if slice.Compute == 3 || slice.Compute == 7 {
			fmt.Printf("%s: %.2f (%v)\n", slice.Name, e.Value, e.Source.Kind)
		}
	}
	// Output:
	// 3g.20gb: 0.43 (prior)
	// 7g.40gb: 1.00 (prior)
}
