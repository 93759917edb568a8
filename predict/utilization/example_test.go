package utilization_test

import (
	"bytes"
	"fmt"

	"example.com/colloc/predict/utilization"
	"example.com/colloc/profile"
)

// dense is a small classifier: three dense layers of one width.
func dense(width int64, batch int) profile.Spec {
	var layers []profile.Layer
	for range 3 {
		layers = append(layers,
			profile.Layer{Name: "linear", Kind: profile.Linear, Neurons: width, Params: width * (width + 1), Activations: width},
			profile.Layer{Name: "relu", Kind: profile.Activation, Activations: width})
	}
	return profile.Spec{
		Model:    profile.Model{Name: "dense", Family: profile.MLP, Layers: layers},
		Training: profile.Training{BatchSize: batch, Optimizer: profile.Adam},
	}
}

func ExamplePredictor_Solo() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	spec := dense(4096, 256)
	var model utilization.Predictor // without data: the roofline answers
	s, err := model.Solo(&spec, &gpu)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("GPU busy %.1f to %.1f, %v\n", s.GPUBusy.Lo, s.GPUBusy.Hi, s.GPUBusy.Source.Kind)
	// Output:
	// GPU busy 0.2 to 1.0, prior
}

func ExampleFit() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	var obs []utilization.Observation
	for i := range 60 {
		spec := dense(int64(256*(1+i%8)), 32<<(i%5))
		busy := float64(1+i%8) / 10
		obs = append(obs, utilization.Observation{Spec: spec, GPU: gpu, Use: profile.Sample{GPUBusy: profile.Some(busy)}})
	}
	u, err := utilization.Fit(obs, nil)
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

func ExampleLoad() {
	var file bytes.Buffer
	if err := new(utilization.Predictor).Save(&file); err != nil {
		fmt.Println(err)
		return
	}
	gpu, _ := profile.LookupGPU("A100-40GB")
	spec := dense(4096, 256)
	back, err := utilization.Load(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := back.Solo(&spec, &gpu)
	fmt.Println(s.GPUBusy.Source.Kind, err)
	// Output:
	// prior <nil>
}
