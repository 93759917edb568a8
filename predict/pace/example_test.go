package pace_test

import (
	"bytes"
	"fmt"

	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

func ExampleMIGSpeed_Speed() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	var m pace.MIGSpeed // nothing fitted: the prior; see package pretrained
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

// throughputs makes up measurements: networks whose speed follows a card's bandwidth.
func throughputs() []pace.Observation {
	var seen []pace.Observation
	for n := range 6 {
		p := &profile.Profile{Spec: profile.Spec{
			Model: profile.Model{Name: fmt.Sprint("net", n), Family: profile.CNN}, Training: profile.Training{BatchSize: 64},
		}}
		for card, images := range map[string]float64{"T4": 30, "V100-16GB": 90, "A100-40GB": 155} {
			gpu, _ := profile.LookupGPU(card)
			seen = append(seen, pace.Observation{
				Profile: p, GPU: gpu, Throughput: images * float64(n+1), Task: p.Spec.Model.Name, Group: p.Spec.Model.Name,
			})
		}
	}
	return seen
}

// A model that was fitted and stored compares cards that a task never saw.
func ExampleFit() {
	m, err := pace.Fit(throughputs(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := m.Save(&file); err != nil {
		fmt.Println(err)
		return
	}
	back, err := pace.Load(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: "another", Family: profile.CNN}, Training: profile.Training{BatchSize: 64}}}
	h100, _ := profile.LookupGPU("H100-80GB")
	t4, _ := profile.LookupGPU("T4")
	e := back.Ratio(p, &h100, &t4)
	fmt.Printf("an H100 does %.0f times what a T4 does, %.0f to %.0f\n", e.Value, e.Lo, e.Hi)
	// Output:
	// an H100 does 9 times what a T4 does, 7 to 12
}

// kept is a task that keeps its GPU busy so much of the time.
func kept(busy float64) *profile.Profile {
	p, err := profile.New(profile.Spec{Training: profile.Training{BatchSize: 32}},
		profile.Trace{Samples: []profile.Sample{{GPUBusy: profile.Some(busy)}}}, profile.GPUModel{})
	if err != nil {
		fmt.Println(err)
	}
	return &p
}

// Speeds on slices, measured for a few models, replace the prior for the others.
func ExampleFitMIGSpeed() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	var seen []pace.MIGObservation
	for n := range 4 {
		name, busy := fmt.Sprint("net", n), 0.9-0.2*float64(n)
		for _, slice := range gpu.MIG {
			speed := min(1, float64(slice.Compute)/7/busy)
			seen = append(seen, pace.MIGObservation{Profile: kept(busy), GPU: gpu, Slice: slice, Speed: speed, Group: name})
		}
	}
	m, err := pace.FitMIGSpeed(seen, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := m.Save(&file); err != nil {
		fmt.Println(err)
		return
	}
	back, err := pace.LoadMIGSpeed(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, slice := range gpu.MIG {
		if slice.Compute == 3 {
			e, err := back.Speed(kept(0.4), &gpu, slice)
			fmt.Printf("%s: %.2f (%v) %v\n", slice.Name, e.Value, e.Source.Kind, err)
		}
	}
	// Output:
	// 3g.20gb: 0.90 (fitted) <nil>
}

// Speeds of a mix under MPS at two thread percentages tell what each task would do on
// slices of two sizes.
func ExampleFitMPSProbe() {
	var mixes []pace.Mix
	for n := range 40 {
		a := 0.3 + 0.015*float64(n)
		mixes = append(mixes, pace.Mix{
			Probes: [][]float64{{a, 1 - a/2}, {a / 2, a / 3}},
			Slices: [][]float64{{a, 1 - a/2}, {a / 2, (1 - a/2) / 2}},
		})
	}
	m, err := pace.FitMPSProbe(mixes, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := m.Save(&file); err != nil {
		fmt.Println(err)
		return
	}
	back, err := pace.LoadMPSProbe(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	slices, err := back.Speeds([][]float64{{0.6, 0.7}, {0.3, 0.2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for s, tasks := range slices {
		fmt.Printf("slice %d: %.1f and %.1f\n", s, tasks[0].Value, tasks[1].Value)
	}
	// Output:
	// slice 0: 0.6 and 0.7
	// slice 1: 0.3 and 0.3
}
