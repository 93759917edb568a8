package memory_test

import (
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/predict/memory"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// TestBlind: a description that does not tell what the backward pass keeps
// reserves everything, until the task was seen.
func TestBlind(t *testing.T) {
	m, err := pretrained.Memory()
	if err != nil {
		t.Fatal(err)
	}
	known := dense(1024, 64)
	unknown := dense(1024, 64)
	unknown.Model.Layers[2].Activations, unknown.Model.Layers[2].Unknown = 0, profile.ActivationCounts
	none := profile.Spec{Model: profile.Model{Name: "bare"}, Training: profile.Training{BatchSize: 64}}
	traced := none
	traced.Traced.AfterForward = profile.Some(profile.GiB)
	for _, c := range []struct {
		name string
		spec profile.Spec
		want bool
	}{{"known", known, false}, {"one layer unknown", unknown, true}, {"no layers", none, true}, {"traced", traced, false}} {
		reserved, err := m.Reserve(&c.spec, predict.Host{}, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		e, err := m.Peak(&c.spec, predict.Host{})
		if err != nil {
			t.Fatal(err)
		}
		if (reserved == memory.Whole) != c.want || (e.Hi == float64(memory.Whole)) != c.want || e.Value >= float64(profile.TiB) {
			t.Errorf("%s: reserved %v, peak %v to %v", c.name, reserved, e.Value, e.Hi)
		}
	}
	if err := m.Observe(memory.Observation{Spec: unknown, Peak: 3 * profile.GiB}); err != nil {
		t.Fatal(err)
	}
	if reserved, err := m.Reserve(&unknown, predict.Host{}, 0.01); err != nil || reserved == memory.Whole {
		t.Errorf("after it was observed: %v, %v", reserved, err)
	}
}
