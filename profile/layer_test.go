package profile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// partial is a network whose first layer tells no outputs, and whose second no
// parameters.
func partial() Spec {
	return Spec{
		Model: Model{Architecture: "net", Layers: []Layer{
			{Kind: Linear, Params: 1000, Frozen: 900, Unknown: ActivationCounts},
			{Kind: OtherLayer, Activations: 10, Unknown: ParamCounts | NeuronCounts},
			{Kind: Conv, Params: 100, Neurons: 4, Activations: 40, MACs: Some[int64](400)},
		}},
		Training: Training{BatchSize: 2, Optimizer: Adam},
		Warnings: []string{"something was assumed"},
	}
}

func TestUnknownIsNotZero(t *testing.T) {
	s := partial()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	_, neurons := s.Model.Neurons()
	_, acts := s.Model.Activations()
	_, macs := s.Model.MACs()
	if neurons || acts || macs || s.Model.Unknown() != allCounts {
		t.Errorf("neurons known: %t, activations: %t, macs: %t, unknown are %v", neurons, acts, macs, s.Model.Unknown())
	}
	if _, known := (Model{Layers: []Layer{{Kind: Linear, Params: 5}}}).Activations(); known {
		t.Error("a network that puts nothing out is known")
	}
	terms := s.Terms()
	total, known := terms.Total()
	if a, ok := terms.Activations.Get(); ok || known || !terms.AtLeast || total != 4*1100+3*4*200 {
		t.Errorf("got activations %v %t, total %v known %t, at least %t", a, ok, total, known, terms.AtLeast)
	}
	p, err := New(s, Trace{}, GPUModel{})
	if err != nil {
		t.Fatal(err)
	}
	for f, want := range map[Feature]bool{
		LayerCount: true, DepthCount: false, NeuronCount: false, ParamCount: false, TrainableParamCount: false, ActivationCount: false,
		LargestLayerCount: false, ActivationBytes: false, LinearActivationCount: false, LinearParamCount: true, ConvParamCount: true,
		ConvNeuronCount: true, StepFLOPs: false, ArithmeticIntensity: false,
	} {
		if x, got := p.Vector.Get(f); got != want {
			t.Errorf("%v: known %t (%v), want %t", f, got, x, want)
		}
	}
}

func TestTrainable(t *testing.T) {
	s := fullSpec()
	full := s.Terms()
	s.Model.Layers[2].Frozen = s.Model.Layers[2].Params
	got := s.Terms()
	if s.Model.Trainable() != 80 || s.Model.Params() != 8090 || got.Weights != full.Weights || got.Gradients != full.Gradients*80/8090 || got.States != full.States*80/8090 {
		t.Errorf("trainable %d of %d; %+v, all trained %+v", s.Model.Trainable(), s.Model.Params(), got, full)
	}
	s.Model.Layers[2].Frozen++
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "frozen_params is 8011, want 0 to its params, 8010") {
		t.Errorf("got %v", err)
	}
}

func TestUnknownJSON(t *testing.T) {
	s := partial()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"architecture":"net"`, `"frozen_params":900`, `"unknown":"activations"`, `"unknown":"neurons params"`, `"warnings":["something was assumed"]`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
	var back Spec
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, back); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(`{"unknown":"everything"}`), new(Layer)); err == nil || !strings.Contains(err.Error(), "known are activations, neurons, params") {
		t.Errorf("got %v", err)
	}
	if text := (ActivationCounts | ParamCounts).String() + ", " + Counts(0).String(); text != "activations and params, nothing" {
		t.Errorf("got %q", text)
	}
	if _, err := Counts(8).MarshalText(); err == nil {
		t.Error("a count that is none has a name")
	}
}

func TestUnknownContradicted(t *testing.T) {
	for _, c := range []struct {
		layer Layer
		want  string
	}{
		{Layer{Activations: 5, Unknown: ActivationCounts}, "activations is 5 and marked unknown"},
		{Layer{Params: 5, Unknown: ParamCounts}, "params is 5 and marked unknown"},
		{Layer{Neurons: 5, Unknown: NeuronCounts}, "neurons is 5 and marked unknown"},
		{Layer{Unknown: 64}, "unknown is 64"},
	} {
		if err := c.layer.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
