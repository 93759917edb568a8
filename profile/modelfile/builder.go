package modelfile

import "example.com/colloc/profile"

// builder appends the leaves of a described network. The first fault sticks.
type builder struct {
	file  *File
	fault error
}

func (b *builder) add(l profile.Layer) {
	if b.fault == nil {
		b.fault = b.file.add(l)
	}
}

// linear is a dense layer from in to out features at a number of positions.
func (b *builder) linear(name string, in, out, positions int64, bias bool) {
	params := mul(in, out)
	if bias {
		params = add(params, out)
	}
	b.experts(name, params, out, 1, positions)
}

// experts is a bank of dense layers of which each position goes through some.
func (b *builder) experts(name string, each, out, banks, positions int64) {
	b.add(profile.Layer{
		Name: name, Kind: profile.Linear, Neurons: out, Params: mul(each, banks),
		Activations: mul(out, positions), MACs: profile.Some(mul(each, positions)),
	})
}

// tied is a dense layer without bias that reuses another layer's weights.
func (b *builder) tied(name string, in, out, positions int64) {
	b.add(profile.Layer{
		Name: name, Kind: profile.Linear, Neurons: out,
		Activations: mul(out, positions), MACs: profile.Some(mul(in, out, positions)),
	})
}

// norm normalises elements with params parameters.
func (b *builder) norm(name string, params, elements int64) {
	b.add(profile.Layer{
		Name: name, Kind: profile.Norm, Params: params, Activations: elements, MACs: profile.Some(elements),
	})
}

// embedding is a table of rows × width looked up at a number of positions.
func (b *builder) embedding(name string, rows, width, positions int64) {
	b.add(profile.Layer{
		Name: name, Kind: profile.Embedding, Neurons: width, Params: mul(rows, width),
		Activations: mul(width, positions), MACs: profile.Some[int64](0),
	})
}

// scores is the score, softmax and mix part of attention: heads × queries ×
// keys elements; two products over the width of all heads.
func (b *builder) scores(name string, heads, queries, keys, width int64) {
	b.add(profile.Layer{
		Name: name, Kind: profile.Attention, Activations: mul(heads, queries, keys),
		MACs: profile.Some(mul(2, queries, keys, width)),
	})
}

func (b *builder) activation(name string, elements int64) {
	b.add(profile.Layer{Name: name, Kind: profile.Activation, Activations: elements})
}

// dropout adds a dropout leaf if on.
func (b *builder) dropout(on bool, name string, elements int64) {
	if on {
		b.add(profile.Layer{Name: name, Kind: profile.Dropout, Activations: elements})
	}
}
