package pretrained_test

import (
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/predict"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// TestMemoryMonotone: whatever was fitted, more batch, more parameters and more
// optimiser state never lower the estimate.
func TestMemoryMonotone(t *testing.T) {
	m, err := pretrained.Memory()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		spec := drawSpec(r)
		peak := func(s *profile.Spec) float64 {
			e, err := m.Peak(s, predict.Host{})
			if err != nil {
				r.Fatal(err)
			}
			return e.Value
		}
		before := peak(&spec)
		more := spec
		switch rapid.SampledFrom([]string{"batch", "parameters", "optimiser"}).Draw(r, "more") {
		case "batch":
			more.Training.BatchSize += rapid.IntRange(1, 512).Draw(r, "samples")
		case "parameters":
			more.Model.Layers = append([]profile.Layer(nil), spec.Model.Layers...)
			at := rapid.IntRange(0, len(more.Model.Layers)-1).Draw(r, "layer")
			more.Model.Layers[at].Params += rapid.Int64Range(1, 1<<27).Draw(r, "parameters")
		default:
			order := []profile.Optimizer{profile.NoOptimizer, profile.SGD, profile.Momentum, profile.Adam}
			k := rapid.IntRange(1, len(order)-1).Draw(r, "rank")
			spec.Training.Optimizer, more.Training.Optimizer = order[k-1], order[k]
			before = peak(&spec)
		}
		if after := peak(&more); after < before-1 {
			r.Fatalf("%.0f bytes, and %.0f with more", before, after)
		}
	})
}

// drawSpec draws a small network of the families that were fitted.
func drawSpec(r *rapid.T) profile.Spec {
	family := rapid.SampledFrom([]profile.Family{profile.MLP, profile.CNN, profile.Transformer}).Draw(r, "family")
	kinds := map[profile.Family][]profile.LayerKind{
		profile.MLP:         {profile.Linear, profile.Activation, profile.Norm, profile.Dropout},
		profile.CNN:         {profile.Conv, profile.Norm, profile.Activation, profile.Pool, profile.Linear},
		profile.Transformer: {profile.Linear, profile.Norm, profile.Attention, profile.Activation},
	}[family]
	s := profile.Spec{Model: profile.Model{Family: family}}
	for range rapid.IntRange(1, 12).Draw(r, "layers") {
		s.Model.Layers = append(s.Model.Layers, profile.Layer{
			Name: "layer", Kind: rapid.SampledFrom(kinds).Draw(r, "kind"),
			Params: rapid.Int64Range(0, 1<<26).Draw(r, "params"), Activations: rapid.Int64Range(1, 1<<22).Draw(r, "activations"),
		})
	}
	s.Training.BatchSize = rapid.IntRange(1, 512).Draw(r, "batch")
	s.Training.Optimizer = profile.Adam
	return s
}
