package profile

import (
	"errors"
	"fmt"
	"strings"

	"example.com/colloc/internal/enum"
)

// LayerKind says what a layer computes, as far as memory and time depend on it.
type LayerKind int

// The layer kinds that predictions tell apart.
const (
	// OtherLayer is any layer that fits no kind below.
	OtherLayer LayerKind = iota
	// Linear is a dense layer: y = Wx + b.
	Linear
	// Conv is a convolution of any rank, transposed ones included.
	Conv
	// Norm is batch, layer, group or RMS normalisation.
	Norm
	// Activation is an element-wise non-linearity.
	Activation
	// Dropout is dropout or stochastic depth; it keeps a mask.
	Dropout
	// Pool is max, average or adaptive pooling.
	Pool
	// Embedding is a table look-up.
	Embedding
	// Attention is the score, softmax and mix part of attention; its
	// projections are Linear layers.
	Attention
	// Recurrent is an RNN, LSTM or GRU.
	Recurrent
)

// LayerKinds is the number of layer kinds.
const LayerKinds int = int(Recurrent) + 1

//nolint:gochecknoglobals // read-only name table of the enumeration
var layerKindNames = enum.Of("profile: layer kind", "other", "linear", "conv", "norm", "activation", "dropout", "pool", "embedding", "attention", "recurrent")

// String returns the kind's name in lower case.
func (k LayerKind) String() string { return layerKindNames.Text(int(k)) }

// MarshalText writes what String returns; an undefined kind is an error.
func (k LayerKind) MarshalText() ([]byte, error) { return layerKindNames.Marshal(int(k)) }

// UnmarshalText reads what MarshalText writes, ignoring case.
func (k *LayerKind) UnmarshalText(text []byte) error { return enum.Parse(layerKindNames, text, k) }

// Layer is one leaf of a model: something that computes, without children.
type Layer struct {
	// Name is the layer's name in the model file; may be empty.
	Name string `json:"name,omitempty"`
	// Kind says what the layer computes.
	Kind LayerKind `json:"kind"`
	// Neurons is the number of output units: features of a dense layer,
	// channels of a convolution, hidden units of a recurrent layer.
	Neurons int64 `json:"neurons,omitempty"`
	// Params is the number of parameters that live in this layer, frozen ones
	// included; a layer that reuses another's weights has 0.
	Params int64 `json:"params,omitempty"`
	// Frozen is how many of Params the optimiser leaves as they are: they have
	// no gradient and no optimiser state.
	Frozen int64 `json:"frozen_params,omitempty"`
	// Activations is the number of output elements for one sample.
	Activations int64 `json:"activations,omitempty"`
	// MACs is the number of multiply-adds of the forward pass for one sample.
	MACs Opt[int64] `json:"macs,omitzero"`
	// InPlace says that the output overwrites the input, as ReLU(inplace=True)
	// does: no new activation is kept.
	InPlace bool `json:"in_place,omitempty"`
	// Unknown marks the counts that nobody told. They are 0 here and mean
	// nothing; zero is never "unknown".
	Unknown Counts `json:"unknown,omitempty"`
}

// MaxCount is the largest count of parameters, activations or neurons that
// Validate accepts: 10^15, a hundred times beyond the largest models known.
const MaxCount = 1_000_000_000_000_000

// Validate reports every field that is negative, undefined or beyond [MaxCount].
func (l Layer) Validate() error {
	var errs []error
	if l.Kind < 0 || int(l.Kind) >= LayerKinds {
		errs = append(errs, fmt.Errorf("kind %d is not a layer kind", int(l.Kind)))
	}
	macs := l.MACs.Or(0)
	for _, f := range []struct {
		name    string
		n       int64
		unknown Counts
	}{
		{"neurons", l.Neurons, NeuronCounts}, {"params", l.Params, ParamCounts}, {"activations", l.Activations, ActivationCounts}, {"macs", macs, 0},
	} {
		if f.n < 0 || f.n > MaxCount {
			errs = append(errs, fmt.Errorf("%s is %d, want 0 to 1e15", f.name, f.n))
		}
		if f.n != 0 && l.Unknown&f.unknown != 0 {
			errs = append(errs, fmt.Errorf("%s is %d and marked unknown, want one of both", f.name, f.n))
		}
	}
	if l.Frozen < 0 || l.Frozen > l.Params {
		errs = append(errs, fmt.Errorf("frozen_params is %d, want 0 to its params, %d", l.Frozen, l.Params))
	}
	if l.Unknown&^allCounts != 0 {
		errs = append(errs, fmt.Errorf("unknown is %d, want a set of activations, neurons and params", uint8(l.Unknown)))
	}
	return errors.Join(errs...)
}

// Counts is a set of the counts of a layer, for [Layer.Unknown].
type Counts uint8

// The counts that a description may leave open. Multiply-adds are an [Opt].
const (
	// ActivationCounts is Layer.Activations.
	ActivationCounts Counts = 1 << iota
	// NeuronCounts is Layer.Neurons.
	NeuronCounts
	// ParamCounts is Layer.Params.
	ParamCounts

	allCounts = ActivationCounts | NeuronCounts | ParamCounts
)

//nolint:gochecknoglobals // read-only name table of the set
var countNames = enum.Of("profile: count", "activations", "neurons", "params")

// String returns the names of the counts, with " and " between them, or "nothing".
func (c Counts) String() string {
	names := c.names()
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, " and ")
}

func (c Counts) names() (names []string) {
	for i := range countNames.Len() {
		if c&(1<<i) != 0 {
			names = append(names, countNames.Text(i))
		}
	}
	return names
}

// MarshalText writes the names with a space between them; a set with other
// members is an error.
func (c Counts) MarshalText() ([]byte, error) {
	if c&^allCounts != 0 {
		return nil, fmt.Errorf("profile: counts %d have no names", uint8(c))
	}
	return []byte(strings.Join(c.names(), " ")), nil
}

// UnmarshalText reads what MarshalText writes, in any order and ignoring case.
func (c *Counts) UnmarshalText(text []byte) error {
	var out Counts
	for name := range strings.FieldsSeq(string(text)) {
		var i int
		if err := enum.Parse(countNames, []byte(name), &i); err != nil {
			return err
		}
		out |= 1 << i
	}
	*c = out
	return nil
}
