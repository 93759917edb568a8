package footprint

import (
	"testing"

	"example.com/colloc/profile"
)

// TestTransitBeforeConvolution: a convolution's workspace counts with its output
// and what it reads: the output of the layer before, but for a layer in place
// that passes its input on, such as a view.
func TestTransitBeforeConvolution(t *testing.T) {
	conv := profile.Layer{Kind: profile.Conv, Activations: 10}
	for _, tt := range []struct {
		name   string
		middle profile.Layer
		want   float64
	}{
		{"view in place", profile.Layer{Kind: profile.OtherLayer, Activations: 7, InPlace: true}, 100 + 10},
		{"another layer", profile.Layer{Kind: profile.OtherLayer, Activations: 7}, 7 + 10},
		{"activation in place", profile.Layer{Kind: profile.Activation, Activations: 7, InPlace: true}, 7 + 10},
		{"activation", profile.Layer{Kind: profile.Activation, Activations: 7}, 7 + 10},
	} {
		var f Footprint
		f.walk([]profile.Layer{{Kind: profile.Linear, Activations: 100}, tt.middle, conv}, 1)
		if f.TransitElements != tt.want {
			t.Errorf("%s: input and output are %v elements, want %v", tt.name, f.TransitElements, tt.want)
		}
	}
}

// TestClones: autograd keeps a clone of what SiLU overwrites, and none for ReLU or
// ReLU6.
func TestClones(t *testing.T) {
	kept := func(name string) float64 {
		var f Footprint
		f.Measure(&profile.Spec{
			Model: profile.Model{Layers: []profile.Layer{
				{Name: "fc", Kind: profile.Linear, Params: 100, Activations: 10},
				{Name: name, Kind: profile.Activation, Activations: 10, InPlace: true},
			}},
			Training: profile.Training{BatchSize: 1},
		})
		return f.KeptElements
	}
	for name, want := range map[string]float64{"ReLU-2": 10, "ReLU6-2": 10, "SiLU-2": 20, "Mish": 20, "swish": 20, "GELU": 20} {
		if got := kept(name); got != want {
			t.Errorf("%s in place: %v elements kept, want %v", name, got, want)
		}
	}
}
