package footprint

import (
	"testing"

	"example.com/colloc/profile"
)

// TestPrecisionOfParameters: a parameter takes four bytes, two where the whole training
// is in half precision, and six where autocast keeps a copy of it; its gradient has its
// own precision.
func TestPrecisionOfParameters(t *testing.T) {
	for precision, want := range map[profile.Precision][2]float64{
		profile.FP32: {400, 400}, profile.BF16: {200, 200}, profile.FP16: {200, 200}, profile.Mixed: {600, 400},
	} {
		var f Footprint
		f.holdParams(100, 100, &profile.Training{BatchSize: 1, Precision: precision})
		if f.Weights != want[0] || f.Grads != want[1] {
			t.Errorf("%v: weights %v, gradients %v, want %v", precision, f.Weights, f.Grads, want)
		}
	}
}

// TestSavesOutput tells non-linearities from their relatives by their names.
func TestSavesOutput(t *testing.T) {
	for name, want := range map[string]bool{
		"ReLU": true, "relu_1": true, "block.2.ReLU-3": true, "Tanh": true, "Softmax2d": true, "nn.Sigmoid": true,
		"LeakyReLU": false, "PReLU": false, "CReLU-4": false, "ReLU6": false, "LogSigmoid": false, "Hardtanh": false, "GELU": false, "": false,
		"aReLU": false, "zReLU": false, "AReLU": false, "ZReLU": false, "`ReLU": true, "{ReLU": true, "@ReLU": true, "[ReLU": true,
	} {
		if got := savesOutput(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// TestPlausible: what no training can be is told from one.
func TestPlausible(t *testing.T) {
	for name, spoil := range map[string]func(*profile.Spec){
		"":                  func(*profile.Spec) {},
		"frozen too many":   func(s *profile.Spec) { s.Model.Layers[0].Frozen = 11 },
		"unknown inside":    func(s *profile.Spec) { s.Model.Layers[0].Unknown = 1 },
		"fewer than none":   func(s *profile.Spec) { s.Model.Layers[0].Activations = -1 },
		"endless batch":     func(s *profile.Spec) { s.Training.BatchSize = profile.MaxBatch + 1 },
		"no batch":          func(s *profile.Spec) { s.Training.BatchSize = 0 },
		"unknown optimiser": func(s *profile.Spec) { s.Training.Optimizer = profile.Optimizer(profile.Optimizers) },
		"unknown kind":      func(s *profile.Spec) { s.Model.Layers[0].Kind = profile.LayerKind(profile.LayerKinds) },
	} {
		s := &profile.Spec{Model: profile.Model{Layers: []profile.Layer{{Params: 10, Activations: 10, Frozen: 10}}}, Training: profile.Training{BatchSize: 1}}
		spoil(s)
		if got := Plausible(s); got != (name == "") {
			t.Errorf("%q: plausible %v", name, got)
		}
	}
}
