package utilization

import (
	"math"
	"testing"

	"example.com/colloc/profile"
)

// TestRooflineOfAStep: without data a step takes its launches, 5 µs for each of the four
// kernels of a layer and four more of one with parameters, and the longer of six times its
// multiply-adds at the rate of the precision and of its bytes: parameters and gradients
// twice, the optimiser's state twice, activations three times.
func TestRooflineOfAStep(t *testing.T) {
	gpu := profile.GPUModel{Name: "own", FP32: 1e12, TF32: 2e12, BF16: 4e12, BandwidthBytesPerSec: 1e12}
	const launch = (2*4 + 4) * 5. // µs
	for _, c := range []struct {
		name            string
		training        profile.Training
		macs            profile.Opt[int64]
		memory, compute float64 // µs
	}{
		{"FP32", profile.Training{Optimizer: profile.SGD}, profile.Some[int64](2e6), (2*4 + 2*4 + 3*0.04), 6 * 2e6 * 10 / 1e6},
		{"TF32", profile.Training{Optimizer: profile.SGD, Precision: profile.TF32}, profile.Some[int64](2e6), (2*4 + 2*4 + 3*0.04), 6 * 2e6 * 10 / 2e6},
		{"mixed", profile.Training{Optimizer: profile.SGD, Precision: profile.Mixed}, profile.Some[int64](2e6), (2*6 + 2*4 + 3*0.02), 6 * 2e6 * 10 / 4e6},
		{"one multiply-add a parameter", profile.Training{Optimizer: profile.SGD}, profile.Opt[int64]{}, (2*4 + 2*4 + 3*0.04), 6 * 1e6 * 10 / 1e6},
		{"memory is slower", profile.Training{Optimizer: profile.Adam}, profile.Some[int64](1e5), (2*4 + 2*4 + 2*8 + 3*0.04), 6 * 1e5 * 10 / 1e6},
	} {
		c.training.BatchSize = 10
		spec := profile.Spec{Training: c.training, Model: profile.Model{Layers: []profile.Layer{
			{Name: "fc", Kind: profile.Linear, Params: 1e6, Activations: 1000, MACs: c.macs},
			{Name: "ReLU", Kind: profile.Activation, Activations: 1000, MACs: profile.Some[int64](0)},
		}}}
		got, err := (&Predictor{}).Solo(&spec, &gpu)
		if err != nil {
			t.Fatal(err)
		}
		busy := max(c.memory, c.compute) / (launch + max(c.memory, c.compute))
		dram := c.memory / (launch + max(c.memory, c.compute))
		for _, v := range []struct {
			name      string
			got, want float64
		}{
			{"GPU busy", got.GPUBusy.Value, busy},
			{"SM active", got.SMActive.Value, 0.9 * busy},
			{"SM occupancy", got.SMOccupancy.Value, 0.4 * busy},
			{"DRAM active", got.DRAMActive.Value, 0.8 * dram},
		} {
			if !(math.Abs(v.got-v.want) <= 1e-6) {
				t.Errorf("%s: %s %v, want %v", c.name, v.name, v.got, v.want)
			}
		}
	}
}

// TestShares: the kinds of layers count by their share of what all put out.
func TestShares(t *testing.T) {
	gpu := a100(t)
	var layers []profile.Layer
	for i, kind := range []profile.LayerKind{profile.Linear, profile.Conv, profile.Norm, profile.Activation, profile.Dropout, profile.OtherLayer} {
		layers = append(layers, profile.Layer{Kind: kind, Activations: int64(i + 1)})
	}
	var x [featureCount]float64
	describe(&x, &profile.Spec{Model: profile.Model{Layers: layers}, Training: profile.Training{BatchSize: 1}}, &gpu)
	for i := range layers {
		if want := float64(i+1) / 21; !(math.Abs(x[10+i]-want) <= 1e-12) {
			t.Errorf("layers of %v: share %v, want %v", layers[i].Kind, x[10+i], want)
		}
	}
}

// TestFlatIsTheMedian: half of new tasks are nearer to what is predicted than the flat
// spread says.
func TestFlatIsTheMedian(t *testing.T) {
	u, gpu := fitMadeUpUse(t), a100(t)
	within, all := 0, 0
	for _, o := range madeUpUse(t, 600, 8) {
		var x [featureCount]float64
		describe(&x, &o.Spec, &gpu)
		p := u.parts[profile.CNN][smActive]
		if all++; math.Abs(toScale(o.Use.SMActive.Or(0), smActive)-p.Mean.Predict(x[:])) <= p.Flat {
			within++
		}
	}
	if share := float64(within) / float64(all); share < 0.4 || share > 0.6 {
		t.Errorf("%.2f of errors are within the median", share)
	}
}

// TestEqual: a model is itself alone, whatever another says.
func TestEqual(t *testing.T) {
	a, b := &Predictor{}, &Predictor{}
	if !a.Equal(a) || a.Equal(b) {
		t.Errorf("itself: %v, another: %v", a.Equal(a), a.Equal(b))
	}
}
