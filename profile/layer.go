package profile

import (
	"errors"
	"fmt"
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

	// LayerKinds is the number of layer kinds.
	LayerKinds int = iota
)

//nolint:gochecknoglobals // read-only name table of the enumeration
var layerKindNames = []string{
	"other", "linear", "conv", "norm", "activation", "dropout", "pool", "embedding", "attention", "recurrent",
}

// String returns the kind's name in lower case.
func (k LayerKind) String() string { return enumText("layer kind", layerKindNames, int(k)) }

// MarshalText writes what String returns; an undefined kind is an error.
func (k LayerKind) MarshalText() ([]byte, error) {
	return marshalEnum("layer kind", layerKindNames, int(k))
}

// UnmarshalText reads what MarshalText writes, ignoring case.
func (k *LayerKind) UnmarshalText(text []byte) error {
	i, err := parseEnum("layer kind", layerKindNames, string(text))
	*k = LayerKind(i)
	return err
}

// Layer is one leaf of a model: something that computes, without children.
type Layer struct {
	// Name is the layer's name in the model file; may be empty.
	Name string `json:"name,omitempty"`
	// Kind says what the layer computes.
	Kind LayerKind `json:"kind"`
	// Neurons is the number of output units: features of a dense layer,
	// channels of a convolution, hidden units of a recurrent layer.
	Neurons int64 `json:"neurons,omitempty"`
	// Params is the number of trained parameters that live in this layer;
	// a layer that reuses another's weights has 0.
	Params int64 `json:"params,omitempty"`
	// Activations is the number of output elements for one sample.
	Activations int64 `json:"activations,omitempty"`
	// MACs is the number of multiply-adds of the forward pass for one sample.
	MACs Opt[int64] `json:"macs,omitzero"`
	// InPlace says that the output overwrites the input, as ReLU(inplace=True)
	// does: no new activation is kept.
	InPlace bool `json:"in_place,omitempty"`
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
		name string
		n    int64
	}{{"neurons", l.Neurons}, {"params", l.Params}, {"activations", l.Activations}, {"macs", macs}} {
		if f.n < 0 || f.n > MaxCount {
			errs = append(errs, fmt.Errorf("%s is %d, want 0 to 1e15", f.name, f.n))
		}
	}
	return errors.Join(errs...)
}
