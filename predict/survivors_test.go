package predict

import (
	"math/rand/v2"
	"testing"

	"example.com/colloc/profile"
)

// TestOrderOfTypesAlike: types that differ in nothing but what was observed of
// them are told apart, so that their order changes no bit either.
func TestOrderOfTypesAlike(t *testing.T) {
	var m Interference
	gpu, rng := rtx3090(t), rand.New(rand.NewPCG(1, 1))
	set := make([]*profile.Profile, 6)
	for i := range set {
		set[i] = fakeTask(t, "alike", 8, 0.3, 0.1, 1)
		set[i].Spec.Training.BatchSize = 8 + i // the type, not the features
	}
	for range 40 {
		a, b := set[rng.IntN(len(set))], set[rng.IntN(len(set))]
		speeds := []profile.Opt[float64]{profile.Some(rng.Float64()), profile.Some(rng.Float64())}
		if err := m.Observe(SpeedObservation{GPU: gpu.Name, Mechanism: profile.TimeSlice, Set: []*profile.Profile{a, b}, Speeds: speeds}); err != nil {
			t.Fatal(err)
		}
	}
	want := mustSpeeds(t, &m, gpu, set...)
	for range 50 {
		moved := make([]*profile.Profile, len(set))
		order := rng.Perm(len(set))
		for to, from := range order {
			moved[to] = set[from]
		}
		for to, e := range mustSpeeds(t, &m, gpu, moved...) {
			if e != want[order[to]] {
				t.Fatalf("task %d has %+v, in another order %+v", order[to], want[order[to]], e)
			}
		}
	}
}

// TestTreesNeedUseOrModel: trees are asked about a pair if both models are known,
// in part if both uses are seen, and not at all otherwise: a stranger's loss is
// that of the terms.
func TestTreesNeedUseOrModel(t *testing.T) {
	r := &regime{trees: &trees{}}
	task := func(model int32, seen bool) *member {
		return &member{load: load{seen: seen}, model: model, typ: noEffect}
	}
	for _, tt := range []struct {
		name       string
		own, other *member
		want       float64
	}{
		{"both models", task(1, false), task(2, false), 1},
		{"both seen", task(noEffect, true), task(noEffect, true), strangerShare},
		{"one model, both seen", task(1, true), task(noEffect, true), strangerShare},
		{"neighbour unseen", task(1, true), task(noEffect, false), 0},
		{"task unseen", task(noEffect, false), task(1, true), 0},
		{"neither", task(noEffect, false), task(noEffect, false), 0},
	} {
		if got := r.treeShare(tt.own, tt.other); got != tt.want {
			t.Errorf("%s: trees count for %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestHeldBytes: weights, gradients, optimiser state and temporary copies are of
// the size that the precision says: two bytes a parameter in 16 bits, four in 32.
func TestHeldBytes(t *testing.T) {
	for _, tt := range []struct {
		precision            profile.Precision
		optimizer            profile.Optimizer
		weights, grad, state float64 // bytes for each parameter
	}{
		{profile.FP32, profile.Adam, 4, 4, 8},
		{profile.BF16, profile.Adam, 2, 2, 4},
		{profile.FP16, profile.Momentum, 2, 2, 2},
		{profile.Mixed, profile.SGD, 6, 4, 0},
	} {
		spec := &profile.Spec{
			Model:    profile.Model{Layers: []profile.Layer{{Kind: profile.Linear, Params: 1000, Activations: 10}}},
			Training: profile.Training{BatchSize: 3, Precision: tt.precision, Optimizer: tt.optimizer},
		}
		var f footprint
		f.measure(spec)
		if f.weights != 1000*tt.weights || f.grads != 1000*tt.grad || f.state != 1000*tt.state || f.biggest != f.weights && tt.precision != profile.Mixed {
			t.Errorf("%v, %v: %v weights, %v gradients, %v state", tt.precision, tt.optimizer, f.weights, f.grads, f.state)
		}
		var task memoryTask
		task.describe(spec)
		if want := f.weights + f.state + 2*f.head; task.fixed != want || task.bytes(nil) != want {
			t.Errorf("%v, %v: %v bytes count as they are, want weights, state and the loss: %v", tt.precision, tt.optimizer, task.fixed, want)
		}
	}
}

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
		var f footprint
		f.walk([]profile.Layer{{Kind: profile.Linear, Activations: 100}, tt.middle, conv}, 1)
		if f.transitElements != tt.want {
			t.Errorf("%s: input and output are %v elements, want %v", tt.name, f.transitElements, tt.want)
		}
	}
}
