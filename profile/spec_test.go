package profile

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fullSpec sets every field to something other than its zero.
func fullSpec() Spec {
	return Spec{
		Model: Model{
			Name: "net", Family: CNN,
			Layers: []Layer{
				{Name: "conv", Kind: Conv, Neurons: 8, Params: 80, Activations: 800, MACs: Some[int64](8000)},
				{Name: "relu", Kind: Activation, Activations: 800, InPlace: true},
				{Name: "fc", Kind: Linear, Neurons: 10, Params: 8010, Activations: 10, MACs: Some[int64](8010)},
			},
		},
		Dataset: Dataset{Name: "digits", Samples: Some[int64](60_000), SampleElements: Some[int64](784), SampleBytes: Some(784 * Bytes(1))},
		Training: Training{
			BatchSize: 64, Precision: BF16, Optimizer: Momentum, Checkpointing: true, Workers: 4, GPUs: 2, Parallelism: ShardedData, Accumulation: 3, ZeRO: 2,
		},
		Traced: Traced{AfterForward: Some(3 * MiB), AfterBackward: Some(2 * MiB)},
	}
}

func TestSpecValidate(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*Spec)
		want  string // "" is valid
	}{
		{"as it is", func(*Spec) {}, ""},
		{"no layers", func(s *Spec) { s.Model.Layers = nil }, ""},
		{"largest batch", func(s *Spec) { s.Training.BatchSize = MaxBatch }, ""},
		{"no batch", func(s *Spec) { s.Training.BatchSize = 0 }, "training.batch_size is 0"},
		{"negative batch", func(s *Spec) { s.Training.BatchSize = -8 }, "training.batch_size is -8"},
		{"absurd batch", func(s *Spec) { s.Training.BatchSize = MaxBatch + 1 }, "training.batch_size"},
		{"precision", func(s *Spec) { s.Training.Precision = Precision(Precisions) }, "training.precision is 5"},
		{"optimizer", func(s *Spec) { s.Training.Optimizer = -1 }, "training.optimizer is -1"},
		{"parallelism", func(s *Spec) { s.Training.Parallelism = 99 }, "training.parallelism is 99"},
		{"workers", func(s *Spec) { s.Training.Workers = -1 }, "training.workers is -1"},
		{"gpus", func(s *Spec) { s.Training.GPUs = -1 }, "training.gpus is -1"},
		{"accumulation", func(s *Spec) { s.Training.Accumulation = -1 }, "training.accumulation is -1"},
		{"ZeRO stage", func(s *Spec) { s.Training.ZeRO = 4 }, "training.zero is 4"},
		{"family", func(s *Spec) { s.Model.Family = Family(Families) }, "model.family is 6"},
		{"samples", func(s *Spec) { s.Dataset.Samples = Some[int64](-1) }, "dataset.samples is -1"},
		{"sample elements", func(s *Spec) { s.Dataset.SampleElements = Some[int64](MaxCount + 1) }, "dataset.sample_elements"},
		{"sample bytes", func(s *Spec) { s.Dataset.SampleBytes = Some(Bytes(-1)) }, "dataset.sample_bytes is -1"},
		{"traced forward", func(s *Spec) { s.Traced.AfterForward = Some(Bytes(-1)) }, "traced.after_forward is -1"},
		{"traced backward", func(s *Spec) { s.Traced.AfterBackward = Some(Bytes(math.MaxInt64)) }, "traced.after_backward"},
		{"layer kind", func(s *Spec) { s.Model.Layers[1].Kind = LayerKind(LayerKinds) }, `model.layers[1] "relu": kind 10`},
		{"layer params", func(s *Spec) { s.Model.Layers[0].Params = -1 }, `model.layers[0] "conv": params is -1`},
		{"layer neurons", func(s *Spec) { s.Model.Layers[0].Neurons = -1 }, "neurons is -1"},
		{"layer activations", func(s *Spec) { s.Model.Layers[0].Activations = math.MaxInt64 }, "activations is 9223372036854775807"},
		{"layer macs", func(s *Spec) { s.Model.Layers[0].MACs = Some[int64](-5) }, "macs is -5"},
		{"sum of parameters", func(s *Spec) {
			s.Model.Layers[0].Params, s.Model.Layers[2].Params = MaxCount, MaxCount
		}, "model has 2000000000000000 parameters"},
		{"sum of activations", func(s *Spec) {
			s.Model.Layers[0].Activations, s.Model.Layers[2].Activations = MaxCount, 1
		}, "activations per sample"},
		{"all at once", func(s *Spec) { s.Training.BatchSize, s.Training.Workers = 0, -2 }, "want 1 to 1073741824\ntraining.workers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fullSpec()
			c.spoil(&s)
			err := s.Validate()
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), `profile: spec "net": `) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if _, err := New(s, Trace{}, GPUModel{}); err == nil {
				t.Error("New took it")
			}
		})
	}
}

func TestSpecJSONRoundTrip(t *testing.T) {
	for name, want := range map[string]Spec{
		"full": fullSpec(), "least": {Training: Training{BatchSize: 1}},
	} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Spec
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, exportOpts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var s Spec
	if err := json.Unmarshal([]byte(`{"training":{"batch_size":1,"optimizer":"magic"}}`), &s); err == nil {
		t.Error("an unknown optimizer was read")
	}
	s = fullSpec()
	s.Training.Optimizer = 99
	if data, err := json.Marshal(s); err == nil {
		t.Errorf("an undefined optimizer was written: %s", data)
	}
}

// exportOpts lets cmp look into Opt.
var exportOpts = cmp.AllowUnexported(Opt[int64]{}, Opt[Bytes]{}, Opt[float64]{})

func TestSpecType(t *testing.T) {
	a, b := fullSpec(), fullSpec()
	if a.Type() != b.Type() || a.Type() != "net|digits|bs64|bf16" {
		t.Errorf("got %q, %q", a.Type(), b.Type())
	}
	b.Training.BatchSize = 32
	if a.Type() == b.Type() {
		t.Error("the batch does not matter")
	}
}

func TestModelSums(t *testing.T) {
	m := fullSpec().Model
	macs, ok := m.MACs()
	neurons, okNeurons := m.Neurons()
	acts, okActs := m.Activations()
	if m.Params() != 8090 || neurons != 18 || acts != 1610 || m.Depth() != 2 || macs != 16010 || !ok || !okNeurons || !okActs || m.Trainable() != 8090 {
		t.Errorf("got %d params, %d neurons %t, %d activations %t, depth %d, %d macs %t", m.Params(), neurons, okNeurons, acts, okActs, m.Depth(), macs, ok)
	}
	m.Layers[2].MACs = Opt[int64]{}
	if macs, ok := m.MACs(); ok || macs != 8000 {
		t.Errorf("a dense layer without multiply-adds: got %d, %t", macs, ok)
	}
	if _, ok := (Model{}).MACs(); ok {
		t.Error("the multiply-adds of nothing are known")
	}
	huge := Model{Layers: []Layer{{Params: math.MaxInt64}, {Params: math.MaxInt64}, {Params: 5}}}
	if huge.Params() != math.MaxInt64 {
		t.Errorf("got %d, want saturation", huge.Params())
	}
}

func TestGuess(t *testing.T) {
	for _, c := range []struct {
		name   string
		layers []Layer
		want   Family
	}{
		{"nothing", nil, UnknownFamily},
		{"only norms", []Layer{{Kind: Norm}}, UnknownFamily},
		{"dense", []Layer{{Kind: Linear}, {Kind: Activation}}, MLP},
		{"convolution before dense", []Layer{{Kind: Conv}, {Kind: Linear}, {Kind: Linear}}, CNN},
		{"attention before convolution", []Layer{{Kind: Conv}, {Kind: Attention}}, Transformer},
		{"attention before tables", []Layer{{Kind: Embedding, Params: 99}, {Kind: Attention}}, Transformer},
		{"a table with most parameters", []Layer{{Kind: Embedding, Params: 51}, {Kind: Linear, Params: 49}}, Recommender},
		{"a table of nearly half", []Layer{{Kind: Embedding, Params: 50}, {Kind: Linear, Params: 50}}, MLP},
		{"a small table", []Layer{{Kind: Embedding, Params: 10}, {Kind: Recurrent, Params: 90}}, RNN},
		{"recurrence before dense", []Layer{{Kind: Recurrent}, {Kind: Linear}}, RNN},
		{"undefined kinds", []Layer{{Kind: -1}, {Kind: 99}}, UnknownFamily},
	} {
		if got := (Model{Layers: c.layers}).Guess(); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if got := (Model{Family: RNN, Layers: []Layer{{Kind: Conv}}}).Guess(); got != RNN {
		t.Errorf("what was said lost to the guess: %v", got)
	}
}

func ExampleSpec_Validate() {
	s := Spec{Model: Model{Name: "mlp"}, Training: Training{BatchSize: 0}}
	fmt.Println(s.Validate())
	// Output: profile: spec "mlp": training.batch_size is 0, want 1 to 1073741824
}

func ExampleModel() {
	m := Model{
		Name: "mlp",
		Layers: []Layer{
			{Name: "hidden", Kind: Linear, Neurons: 128, Params: 100_480, Activations: 128, MACs: Some[int64](100_480)},
			{Name: "relu", Kind: Activation, Activations: 128, InPlace: true},
			{Name: "out", Kind: Linear, Neurons: 10, Params: 1290, Activations: 10, MACs: Some[int64](1290)},
		},
	}
	macs, ok := m.MACs()
	neurons, _ := m.Neurons()
	activations, _ := m.Activations()
	fmt.Println(m.Guess(), m.Params(), neurons, activations, m.Depth(), macs, ok)
	// Output: mlp 101770 138 266 2 101770 true
}
