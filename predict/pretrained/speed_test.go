package pretrained_test

import (
	"fmt"
	"testing"

	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

func ExampleInterference() {
	m, err := pretrained.Interference()
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	light, heavy := use(0.3, 0.1), use(0.95, 0.6)
	for _, other := range []*profile.Profile{light, heavy} {
		e, err := m.Speeds(&gpu, profile.TimeSlice, []*profile.Profile{heavy, other}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.1f (%v)\n", e[0].Value, e[0].Source.Kind)
	}
	// Output:
	// 0.9 (fitted)
	// 0.6 (fitted)
}

func ExampleMIGSpeed() {
	m, err := pretrained.MIGSpeed()
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu, _ := profile.LookupGPU("A100-40GB")
	e, err := m.Speed(use(0.4, 0.05), &gpu, gpu.MIG[0])
	fmt.Printf("on %s: %.1f %v\n", gpu.MIG[0].Name, e.Value, err)
	// Output:
	// on 1g.5gb: 0.5 <nil>
}

// use is a task with the given shares of SM time and memory time.
func use(gpuBusy, memBusy float64) *profile.Profile {
	p, err := profile.New(profile.Spec{Training: profile.Training{BatchSize: 32}},
		profile.Trace{Samples: []profile.Sample{{GPUBusy: profile.Some(gpuBusy), MemBusy: profile.Some(memBusy)}}}, profile.GPUModel{})
	if err != nil {
		fmt.Println(err)
	}
	return &p
}

// TestInterferenceElsewhere asks for a GPU and a mechanism that nothing was
// fitted for: the prior answers, and says so.
func TestInterferenceElsewhere(t *testing.T) {
	m, err := pretrained.Interference()
	if err != nil {
		t.Fatal(err)
	}
	set := []*profile.Profile{use(0.9, 0.5), use(0.9, 0.5)}
	for _, g := range profile.GPUs() {
		for _, mech := range []profile.Mechanism{profile.TimeSlice, profile.MPS} {
			e, err := m.Speeds(&g, mech, set, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !(e[0].Value > 0.2 && e[0].Value < 0.95) || e[0].Lo >= e[0].Hi {
				t.Errorf("%s, %v: %+v", g.Name, mech, e[0])
			}
		}
	}
}
