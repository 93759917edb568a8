package predict_test

import (
	"fmt"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

func ExampleUtilization_Solo() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	spec := dense(4096, 256)
	var model predict.Utilization // without data: the roofline answers
	s, err := model.Solo(&spec, &gpu)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("GPU busy %.1f to %.1f, %v\n", s.GPUBusy.Lo, s.GPUBusy.Hi, s.GPUBusy.Source.Kind)
	// Output:
	// GPU busy 0.2 to 1.0, prior
}

func ExampleFitUtilization() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	var obs []predict.UtilizationObservation
	for i := range 60 {
		spec := dense(int64(256*(1+i%8)), 32<<(i%5))
		busy := float64(1+i%8) / 10
		obs = append(obs, predict.UtilizationObservation{Spec: spec, GPU: gpu, Use: profile.Sample{GPUBusy: profile.Some(busy)}})
	}
	u, err := predict.FitUtilization(obs, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := dense(1024, 128)
	s, err := u.Solo(&spec, &gpu)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("GPU busy %.1f, %v; SM active: %v\n", s.GPUBusy.Value, s.GPUBusy.Source.Kind, s.SMActive.Source.Kind)
	// Output:
	// GPU busy 0.4, fitted; SM active: prior
}

func ExampleProbeMemory() {
	run := func(batch int, peak profile.Bytes) predict.MemoryObservation {
		return predict.MemoryObservation{Spec: dense(1024, batch), Peak: peak}
	}
	p, err := predict.ProbeMemory(nil, []predict.MemoryObservation{run(32, 2*profile.GiB), run(64, 3*profile.GiB)})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := p.Peak(128)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f GiB, %v\n", e.Value/float64(profile.GiB), e.Source.Kind)
	// Output:
	// 5.0 GiB, measured
}

func ExampleTogetherMemory_Margin() {
	var t predict.TogetherMemory
	margin, err := t.Margin(2, 0.01)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(margin)
	// Output:
	// 1.54 GiB
}
