package footprint

import (
	"math"
	"testing"

	"example.com/colloc/profile"
)

// net has 17 parameters, of which 15 are trained.
func net() []profile.Layer {
	return []profile.Layer{
		{Name: "conv", Kind: profile.Conv, Params: 10, Activations: 6},
		{Name: "norm", Kind: profile.Norm, Activations: 6},
		{Name: "ReLU", Kind: profile.Activation, Activations: 6},
		{Name: "pool", Kind: profile.Pool, Activations: 3},
		{Name: "drop", Kind: profile.Dropout, Activations: 3},
		{Name: "fc", Kind: profile.Linear, Params: 7, Frozen: 2, Activations: 2},
	}
}

// measure counts net under a training of five samples of 8 elements each.
func measure(t profile.Training) *Footprint {
	t.BatchSize = 5
	spec := profile.Spec{Model: profile.Model{Layers: net()}, Training: t}
	spec.Dataset.SampleElements = profile.Some[int64](8)
	var f Footprint
	f.Measure(&spec)
	return &f
}

// TestParameterTerms: what weights, gradients, the optimiser's state and its step take.
func TestParameterTerms(t *testing.T) {
	const all, trained, most = 17, 15, 10 // parameters; those of the largest layer
	for _, c := range []struct {
		name                        string
		training                    profile.Training
		weights, grads, state, temp float64
	}{
		{"Adam keeps two moments, and its step takes a copy", profile.Training{Optimizer: profile.Adam}, 4 * all, 4 * trained, 8 * trained, 4 * trained},
		{"unknown is Adam", profile.Training{}, 4 * all, 4 * trained, 8 * trained, 4 * trained},
		{"SGD keeps nothing", profile.Training{Optimizer: profile.SGD}, 4 * all, 4 * trained, 0, 0},
		{"momentum keeps one", profile.Training{Optimizer: profile.Momentum}, 4 * all, 4 * trained, 4 * trained, 0},
		{"Adafactor keeps rows and columns", profile.Training{Optimizer: profile.Adafactor}, 4 * all, 4 * trained, 0.05 * 4 * trained, 4 * trained},
		{"inference keeps weights", profile.Training{Optimizer: profile.NoOptimizer}, 4 * all, 0, 0, 0},
		{"half precision halves all", profile.Training{Optimizer: profile.Adam, Precision: profile.BF16}, 2 * all, 2 * trained, 4 * trained, 2 * trained},
		{"autocast adds 16-bit copies", profile.Training{Optimizer: profile.Momentum, Precision: profile.Mixed}, 6 * all, 4 * trained, 4 * trained, 0},
		{"data parallelism adds buckets", profile.Training{Optimizer: profile.Momentum, Parallelism: profile.DataParallel, GPUs: 2}, 4 * all, 8 * trained, 4 * trained, 0},
		{"but not on one GPU", profile.Training{Optimizer: profile.Momentum, Parallelism: profile.DataParallel, GPUs: 1}, 4 * all, 4 * trained, 4 * trained, 0},
		{"shards, and the layers at work whole", profile.Training{Optimizer: profile.Adam, Parallelism: profile.ShardedData, GPUs: 4}, all + 8*most, trained + 4*most, 2 * trained, trained},
		{"a part of the model", profile.Training{Optimizer: profile.Adam, Parallelism: profile.ModelParallel, GPUs: 4}, all, trained, 2 * trained, trained},
		{"no number of GPUs is one", profile.Training{Optimizer: profile.Adam, Parallelism: profile.ModelParallel}, 4 * all, 4 * trained, 8 * trained, 4 * trained},
	} {
		f := measure(c.training)
		for _, v := range []struct {
			term      string
			got, want float64
		}{{"weights", f.Weights, c.weights}, {"gradients", f.Grads, c.grads}, {"state", f.State, c.state}, {"step", f.Temp, c.temp}} {
			if math.Abs(v.got-v.want) > 1e-9 {
				t.Errorf("%s: %s take %v bytes, want %v", c.name, v.term, v.got, v.want)
			}
		}
	}
}

// TestActivationTerms: of 26 elements the backward pass reads what the normalisation and
// the dense layer read, 6 and 3, and what the ReLU put out, 6; dropout keeps a byte an
// element, max pooling eight.
func TestActivationTerms(t *testing.T) {
	for _, c := range []struct {
		name                                         string
		training                                     profile.Training
		kept, masks, largest, transit, input, logits float64
	}{
		{"four bytes", profile.Training{}, 15 * 4 * 5, (3 + 8*3) * 5, 6 * 4 * 5, 6 * 4 * 5, 8 * 4 * 5, 2 * 4 * 5},
		{"two under autocast", profile.Training{Precision: profile.Mixed}, 15 * 2 * 5, (3 + 8*3) * 5, 6 * 2 * 5, 6 * 2 * 5, 8 * 4 * 5, 2 * 4 * 5},
		{"inference keeps none", profile.Training{Optimizer: profile.NoOptimizer}, 0, 0, 6 * 4 * 5, 6 * 4 * 5, 8 * 4 * 5, 2 * 4 * 5},
		{"a third of the model", profile.Training{Parallelism: profile.ModelParallel, GPUs: 3}, 5 * 4 * 5, (1 + 8) * 5, 6 * 4 * 5, 6 * 4 * 5, 8 * 4 * 5, 2 * 4 * 5},
	} {
		f := measure(c.training)
		got, want := [6]float64{f.Kept, f.Masks, f.Largest, f.Transit, f.Input, f.Head}, [6]float64{c.kept, c.masks, c.largest, c.transit, c.input, c.logits}
		if got != want {
			t.Errorf("%s: kept, masks, largest, transit, input, logits %v, want %v", c.name, got, want)
		}
	}
	f, again := measure(profile.Training{}), measure(profile.Training{GPUs: 2})
	again.Measure(&profile.Spec{Model: profile.Model{Layers: net()}, Training: profile.Training{BatchSize: 5}})
	if f.Input = 0; *again != *f {
		t.Errorf("what was measured before counts: %+v, want %+v", again, f)
	}
	if f.Outputs != 26 || f.Layers != 6 || f.Convs != 1 || f.ByKind[profile.Pool] != 3 || f.Biggest != 40 {
		t.Errorf("%+v", f)
	}
}

// TestCheckpointing: of n layers with activations the borders of √n segments stay, and one
// segment; of four or fewer everything.
func TestCheckpointing(t *testing.T) {
	for n, share := range map[int]float64{1: 1, 3: 1, 4: 1, 16: 0.5, 64: 0.25} {
		layers := make([]profile.Layer, n)
		for i := range layers {
			layers[i] = profile.Layer{Kind: profile.Recurrent, Activations: 10}
		}
		layers[0].Kind = profile.Dropout // which the recurrent layer after it reads
		of := func(checkpointing bool) (f Footprint) {
			f.Measure(&profile.Spec{Model: profile.Model{Layers: layers}, Training: profile.Training{BatchSize: 1, Checkpointing: checkpointing}})
			return f
		}
		whole, left := of(false), of(true)
		if whole.Masks != 10 || left.Kept != share*whole.Kept || left.Masks != share*whole.Masks {
			t.Errorf("%d layers keep %v of %v, masks %v of %v, want %v", n, left.Kept, whole.Kept, left.Masks, whole.Masks, share)
		}
	}
}

// TestKeptElements: which outputs the backward pass reads.
func TestKeptElements(t *testing.T) {
	fc := profile.Layer{Name: "fc", Kind: profile.Linear, Activations: 100}
	other := profile.Layer{Name: "view", Kind: profile.OtherLayer, Activations: 1000}
	drop := profile.Layer{Name: "drop", Kind: profile.Dropout, Activations: 1000}
	score := profile.Layer{Name: "attention", Kind: profile.Attention, Activations: 10}
	fused := profile.Layer{Name: "attention", Kind: profile.Attention, Activations: 10, InPlace: true}
	act := func(name string, inPlace bool) profile.Layer {
		return profile.Layer{Name: name, Kind: profile.Activation, Activations: 10, InPlace: inPlace}
	}
	for _, c := range []struct {
		name   string
		layers []profile.Layer
		want   float64
	}{
		{"nothing after a dense layer", []profile.Layer{fc}, 0},
		{"GELU reads its input", []profile.Layer{fc, act("GELU", false), other}, 100},
		{"ReLU reads its output", []profile.Layer{fc, act("ReLU", false), other}, 10},
		{"ReLU6 reads its input", []profile.Layer{fc, act("ReLU6", false), other}, 100},
		{"ReLU6 in place its output", []profile.Layer{fc, act("ReLU6", true), other}, 10},
		{"SiLU in place its output and a clone", []profile.Layer{fc, act("SiLU", true), other}, 10 + 10},
		{"ReLU before a dense layer is kept once", []profile.Layer{act("ReLU", true), fc}, 10},
		{"recurrent layers read both", []profile.Layer{fc, {Kind: profile.Recurrent, Activations: 10}, other}, 100 + 10},
		{"attention keeps its scores, and the mixed values for the projection", []profile.Layer{fc, score, fc, other}, 100 + 10 + 100},
		{"through dropout", []profile.Layer{fc, score, drop, fc}, 100 + 10 + 100 + 1000},
		{"not beyond", []profile.Layer{fc, score, drop, other, fc}, 100 + 10 + 1000},
		{"attention at the end", []profile.Layer{fc, score}, 100 + 10},
		{"a fused kernel keeps no scores", []profile.Layer{fc, fused, fc}, 100 + 100},
	} {
		var f Footprint
		f.walk(c.layers, 1)
		if f.KeptElements != c.want {
			t.Errorf("%s: %v elements are kept, want %v", c.name, f.KeptElements, c.want)
		}
	}
}

// TestPlausibleAtTheLimits: the largest amounts that pass are valid, and one more of any
// is for Validate to judge.
func TestPlausibleAtTheLimits(t *testing.T) {
	const most, total = profile.MaxCount / (1 << 12), profile.MaxCount
	limits := func() *profile.Spec {
		s := &profile.Spec{Model: profile.Model{Family: profile.Family(profile.Families - 1)}}
		s.Model.Layers = []profile.Layer{{}, {
			Kind: profile.LayerKind(profile.LayerKinds - 1), Params: most, Frozen: most, Activations: most, Neurons: most, MACs: profile.Some[int64](most),
		}}
		s.Training = profile.Training{
			BatchSize: profile.MaxBatch, Workers: 1<<20 - 1, GPUs: 1<<20 - 1, Precision: profile.Precision(profile.Precisions - 1),
			Optimizer: profile.Optimizer(profile.Optimizers - 1), Parallelism: profile.Parallelism(profile.Parallelisms - 1),
		}
		s.Dataset = profile.Dataset{Samples: profile.Some[int64](total), SampleElements: profile.Some[int64](total), SampleBytes: profile.Some[profile.Bytes](total)}
		s.Traced = profile.Traced{AfterForward: profile.Some[profile.Bytes](total), AfterBackward: profile.Some[profile.Bytes](total)}
		return s
	}
	if s := limits(); !Plausible(s) || s.Validate() != nil {
		t.Errorf("at the limits: plausible %v, %v", Plausible(s), s.Validate())
	}
	if s := (&profile.Spec{Training: profile.Training{BatchSize: 1}}); !Plausible(s) || s.Validate() != nil {
		t.Errorf("nothing but a batch of 1: plausible %v, %v", Plausible(s), s.Validate())
	}
	for name, beyond := range map[string]func(l *profile.Layer, s *profile.Spec, by int64){
		"params":      func(l *profile.Layer, _ *profile.Spec, by int64) { l.Params, l.Frozen = edge(by, most), 0 },
		"frozen":      func(l *profile.Layer, _ *profile.Spec, by int64) { l.Frozen = edge(by, most) },
		"activations": func(l *profile.Layer, _ *profile.Spec, by int64) { l.Activations = edge(by, most) },
		"neurons":     func(l *profile.Layer, _ *profile.Spec, by int64) { l.Neurons = edge(by, most) },
		"MACs":        func(l *profile.Layer, _ *profile.Spec, by int64) { l.MACs = profile.Some(edge(by, most)) },
		"kind": func(l *profile.Layer, _ *profile.Spec, by int64) {
			l.Kind = profile.LayerKind(edge(by, int64(profile.LayerKinds-1)))
		},
		"family": func(_ *profile.Layer, s *profile.Spec, by int64) {
			s.Model.Family = profile.Family(edge(by, int64(profile.Families-1)))
		},
		"batch": func(_ *profile.Layer, s *profile.Spec, by int64) {
			s.Training.BatchSize = int(edge(by, profile.MaxBatch))
		},
		"workers": func(_ *profile.Layer, s *profile.Spec, by int64) { s.Training.Workers = int(edge(by, 1<<20-1)) },
		"GPUs":    func(_ *profile.Layer, s *profile.Spec, by int64) { s.Training.GPUs = int(edge(by, 1<<20-1)) },
		"precision": func(_ *profile.Layer, s *profile.Spec, by int64) {
			s.Training.Precision = profile.Precision(edge(by, int64(profile.Precisions-1)))
		},
		"optimizer": func(_ *profile.Layer, s *profile.Spec, by int64) {
			s.Training.Optimizer = profile.Optimizer(edge(by, int64(profile.Optimizers-1)))
		},
		"parallelism": func(_ *profile.Layer, s *profile.Spec, by int64) {
			s.Training.Parallelism = profile.Parallelism(edge(by, int64(profile.Parallelisms-1)))
		},
		"samples": func(_ *profile.Layer, s *profile.Spec, by int64) { s.Dataset.Samples = profile.Some(edge(by, total)) },
		"elements": func(_ *profile.Layer, s *profile.Spec, by int64) {
			s.Dataset.SampleElements = profile.Some(edge(by, total))
		},
		"bytes": func(_ *profile.Layer, s *profile.Spec, by int64) {
			s.Dataset.SampleBytes = profile.Some(profile.Bytes(edge(by, total)))
		},
		"forward": func(_ *profile.Layer, s *profile.Spec, by int64) {
			s.Traced.AfterForward = profile.Some(profile.Bytes(edge(by, total)))
		},
		"backward": func(_ *profile.Layer, s *profile.Spec, by int64) {
			s.Traced.AfterBackward = profile.Some(profile.Bytes(edge(by, total)))
		},
	} {
		for _, by := range []int64{1, -1} {
			s := limits()
			beyond(&s.Model.Layers[1], s, by)
			if Plausible(s) {
				t.Errorf("%s beyond its limits by %d passes", name, by)
			}
		}
	}
	for n, want := range map[int]bool{1<<12 - 1: true, 1 << 12: false} {
		if s := (&profile.Spec{Model: profile.Model{Layers: make([]profile.Layer, n)}, Training: profile.Training{BatchSize: 1}}); Plausible(s) != want {
			t.Errorf("%d layers: plausible %v", n, !want)
		}
	}
}

// edge is one more than most, or one less than 0.
func edge(by, most int64) int64 {
	if by < 0 {
		return -1
	}
	return most + 1
}

// TestFusedScoresAreNowhere: a fused kernel's scores are neither kept nor the largest
// output, and what it mixes is.
func TestFusedScoresAreNowhere(t *testing.T) {
	spec := profile.Spec{Training: profile.Training{BatchSize: 1}, Model: profile.Model{Layers: []profile.Layer{
		{Kind: profile.Linear, Activations: 30}, {Kind: profile.Attention, Activations: 1000}, {Kind: profile.Linear, Activations: 10}, {Kind: profile.Norm, Activations: 10},
	}}}
	var stored, fused Footprint
	stored.Measure(&spec)
	spec.Model.Layers[1].InPlace = true
	fused.Measure(&spec)
	if stored.Largest != 4000 || fused.Largest != 120 || stored.Kept-fused.Kept != 4000 || fused.Kept != 4*(30+10+10) {
		t.Errorf("stored %v of %v, fused %v of %v bytes are kept", stored.Kept, stored.Largest, fused.Kept, fused.Largest)
	}
}
