package profile

import "example.com/colloc/internal/enum"

// Family is the kind of a whole model; predictions keep parameters per family.
type Family int

// The model families that predictions tell apart.
const (
	// UnknownFamily is any model that fits no family below.
	UnknownFamily Family = iota
	// MLP is a stack of dense layers.
	MLP
	// CNN is a convolutional network.
	CNN
	// Transformer is an attention network of any modality.
	Transformer
	// Recommender is dominated by embedding tables.
	Recommender
	// RNN is a recurrent network.
	RNN
)

// Families is the number of families.
const Families int = int(RNN) + 1

//nolint:gochecknoglobals // read-only name table of the enumeration
var familyNames = enum.Of("profile: family", "unknown", "mlp", "cnn", "transformer", "recommender", "rnn")

// String returns the family's name in lower case.
func (f Family) String() string { return familyNames.Text(int(f)) }

// MarshalText writes what String returns; an undefined family is an error.
func (f Family) MarshalText() ([]byte, error) { return familyNames.Marshal(int(f)) }

// UnmarshalText reads what MarshalText writes, ignoring case.
func (f *Family) UnmarshalText(text []byte) error { return enum.Parse(familyNames, text, f) }

// Model is a network as a flat list of its leaves, in the order they compute.
type Model struct {
	// Name is what people call the model, for example "ResNet-50".
	Name string `json:"name,omitempty"`
	// Family is the kind of network. UnknownFamily lets [Model.Guess] answer.
	Family Family `json:"family,omitempty"`
	// Architecture is the kind of network that the description names: the
	// model_type of a config.json or the class of the root module, such as
	// "llama" or "ResNet". Two models of one architecture differ in sizes alone.
	// Empty is unknown.
	Architecture string `json:"architecture,omitempty"`
	// Layers are the leaves; containers are not listed. It may be empty when
	// nothing is known but what was observed.
	Layers []Layer `json:"layers,omitempty"`
}

// Params returns the number of parameters, frozen ones included; the least that
// there can be where [Model.Unknown] has ParamCounts. O(layers).
func (m Model) Params() int64 { return m.sum(func(l *Layer) int64 { return l.Params }) }

// Trainable returns the number of parameters that the optimiser changes. O(layers).
func (m Model) Trainable() int64 { return m.sum(func(l *Layer) int64 { return l.Params - l.Frozen }) }

// Neurons returns the number of output units of all layers, and whether every
// layer tells its own. O(layers).
func (m Model) Neurons() (n int64, known bool) {
	return m.sum(func(l *Layer) int64 { return l.Neurons }), m.Unknown()&NeuronCounts == 0
}

// Activations returns the number of output elements of all layers for one
// sample, in-place layers included, and whether they are known: every layer
// tells its own, and they are not all 0, as no network puts nothing out.
// O(layers).
func (m Model) Activations() (n int64, known bool) {
	n = m.sum(func(l *Layer) int64 { return l.Activations })
	return n, n > 0 && m.Unknown()&ActivationCounts == 0
}

// Unknown returns the counts that some layer does not tell; without layers, all.
// O(layers).
func (m Model) Unknown() Counts {
	if len(m.Layers) == 0 {
		return allCounts
	}
	var c Counts
	for i := range m.Layers {
		c |= m.Layers[i].Unknown
	}
	return c
}

// Depth returns the number of layers that hold parameters. O(layers).
func (m Model) Depth() int {
	n := 0
	for i := range m.Layers {
		if m.Layers[i].Params > 0 {
			n++
		}
	}
	return n
}

// MACs returns the multiply-adds of the forward pass for one sample, and
// whether every layer that holds parameters states its own.
func (m Model) MACs() (int64, bool) {
	known := len(m.Layers) > 0
	total := m.sum(func(l *Layer) int64 {
		n, ok := l.MACs.Get()
		known = known && (ok || l.Params == 0 && l.Unknown&ParamCounts == 0)
		return n
	})
	return total, known
}

// Guess returns the family: Family where it is set, else what the layers say
// (the most telling kind wins: attention, then a table that holds most
// parameters, convolution, recurrence, dense). O(layers).
func (m Model) Guess() Family {
	if m.Family != UnknownFamily {
		return m.Family
	}
	var count [LayerKinds]int
	var embedded, params int64
	for i := range m.Layers {
		l := &m.Layers[i]
		if l.Kind >= 0 && int(l.Kind) < LayerKinds {
			count[l.Kind]++
		}
		params += l.Params
		if l.Kind == Embedding {
			embedded += l.Params
		}
	}
	switch {
	case count[Attention] > 0:
		return Transformer
	case count[Embedding] > 0 && embedded > params/2:
		return Recommender
	case count[Conv] > 0:
		return CNN
	case count[Recurrent] > 0:
		return RNN
	case count[Linear] > 0:
		return MLP
	}
	return UnknownFamily
}

// sum adds up one count over all layers, saturating at the largest int64.
func (m Model) sum(of func(*Layer) int64) int64 {
	var total int64
	for i := range m.Layers {
		n := of(&m.Layers[i])
		if n > 0 && total > (1<<63-1)-n {
			return 1<<63 - 1
		}
		total += n
	}
	return total
}
