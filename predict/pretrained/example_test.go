package pretrained_test

import (
	"fmt"

	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

func ExampleMemory() {
	m, err := pretrained.Memory()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("measured on", m.Provenance().GPU)
	// Output:
	// measured on A100-40GB
}

// What a faster card is worth to a task of which nothing was measured.
func ExamplePace() {
	m, err := pretrained.Pace()
	if err != nil {
		fmt.Println(err)
		return
	}
	a100, _ := profile.LookupGPU("A100-40GB")
	t4, _ := profile.LookupGPU("T4")
	e := m.Ratio(&profile.Profile{}, &a100, &t4)
	fmt.Printf("%.1f times as fast, %.1f to %.1f\n", e.Value, e.Lo, e.Hi)
	// Output:
	// 6.8 times as fast, 2.6 to 17.9
}

// How busy a network would keep a GPU that it never saw.
func ExampleUtilization() {
	m, err := pretrained.Utilization()
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := profile.Spec{
		Model: profile.Model{Family: profile.MLP, Layers: []profile.Layer{
			{Kind: profile.Linear, Neurons: 4096, Params: 4096 * 4097, Activations: 4096},
		}},
		Training: profile.Training{BatchSize: 256, Optimizer: profile.Adam},
	}
	a100, _ := profile.LookupGPU("A100-40GB")
	use, err := m.Solo(&spec, &a100)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("busy %.1f to %.1f of the time, %v\n", use.GPUBusy.Lo, use.GPUBusy.Hi, use.GPUBusy.Source.Kind)
	// Output:
	// busy 0.3 to 0.7 of the time, fitted
}
