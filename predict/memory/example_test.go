package memory_test

import (
	"bytes"
	"fmt"

	"example.com/colloc/predict"
	"example.com/colloc/predict/memory"
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

// observed makes up measurements: a context of 500 MiB and what Adam keeps.
func observed() []memory.Observation {
	var obs []memory.Observation
	for i := range 40 {
		spec := dense(int64(256*(1+i%8)), 32<<(i%5))
		held := 5 * 4 * spec.Model.Params()
		obs = append(obs, memory.Observation{
			Spec: spec, Host: predict.Host{Name: "lab"}, Peak: 500*profile.MiB + profile.Bytes(held), Group: "dense",
		})
	}
	return obs
}

func ExampleFit() {
	m, err := memory.Fit(observed(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := dense(3000, 64)
	e, err := m.Peak(&spec, predict.Host{Name: "lab"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f GiB, %v\n", e.Value/float64(profile.GiB), e.Source.Kind)
	// Output:
	// 0.99 GiB, fitted
}

func ExamplePredictor_Reserve() {
	m, err := memory.Fit(observed(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := dense(2000, 64)
	host := predict.Host{Name: "new stack", Context: profile.Some(900 * profile.MiB)}
	kept, err := m.Reserve(&spec, host, 0.01)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f GiB\n", kept.GiBs())
	// Output:
	// 1.1 GiB
}

func ExamplePredictor_Calibrate() {
	m, err := memory.Fit(observed(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	// One known task ran on a new machine and took 700 MiB more than before.
	known := observed()[0]
	known.Peak += 700 * profile.MiB
	host, err := m.Calibrate("node7", []memory.Observation{known})
	if err != nil {
		fmt.Println(err)
		return
	}
	context, _ := host.Context.Get()
	fmt.Printf("%s: %.2f GiB\n", host.Name, context.GiBs())
	// Output:
	// node7: 1.17 GiB
}

func ExampleLoad() {
	m, err := memory.Fit(observed(), &memory.Options{Provenance: predict.Provenance{Data: "made up", Rows: 40}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := m.Save(&file); err != nil {
		fmt.Println(err)
		return
	}
	back, err := memory.Load(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(back.Provenance().Data, back.Provenance().Rows)
	// Output:
	// made up 40
}

func ExampleTogether_Margin() {
	var t memory.Together
	margin, err := t.Margin(2, 0.01)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(margin)
	// Output:
	// 1.54 GiB
}

// Sets that need more together than the sum of their parts widen the margin.
func ExampleFitTogether() {
	var seen []memory.TogetherObservation
	for i := range 30 {
		sum := profile.Bytes(10+i%5) * profile.GiB
		seen = append(seen, memory.TogetherObservation{Solo: sum, Together: sum + profile.Bytes(i)*32*profile.MiB})
	}
	together, err := memory.FitTogether(seen, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, risk := range []float64{0.5, 0.1} {
		margin, err := together.Margin(2, risk)
		fmt.Println(margin, err)
	}
	// Output:
	// 480 MiB <nil>
	// 864 MiB <nil>
}
