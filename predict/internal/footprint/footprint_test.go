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
