package modelfile

import (
	"strconv"

	"example.com/colloc/profile"
)

// block is one transformer block: attention, optional cross-attention and a
// feed-forward part, as the members say.
type block struct {
	width    int64 // of the residual stream
	heads    int64
	kvHeads  int64
	headSize int64
	inner    int64 // width of the feed-forward part
	length   int64 // positions
	memory   int64 // positions of the encoder's output; 0 has no cross-attention

	rms      bool  // norms have a scale but no shift
	norms    int   // norms of the block, cross-attention's apart
	qkNorm   int64 // width of the norms of queries and keys; 0 has none
	qkvBias  bool
	outBias  bool
	mlpBias  bool
	fused    bool  // queries, keys and values come from one dense layer
	gated    bool  // the feed-forward part has a gate
	experts  int64 // 0 has one plain feed-forward part
	active   int64 // experts that one position goes through
	dropouts bool  // dropout after attention and feed-forward part
	dropMix  bool  // dropout on the attention probabilities
}

// normParams is what one norm over a width holds.
func (k *block) normParams(width int64) int64 {
	if k.rms {
		return width
	}
	return mul(2, width)
}

// stack appends depth blocks under a prefix; bias is the number of entries of a
// table of relative position biases that the first block holds for all.
func (b *builder) stack(prefix string, depth int, k *block, bias int64) {
	for i := range depth {
		if b.fault != nil {
			return
		}
		b.block(prefix+".layers."+strconv.Itoa(i), k)
		if i == 0 && bias > 0 {
			b.embedding(prefix+".layers.0.attention.position_bias", bias, k.heads, mul(k.length, k.length))
		}
	}
}

func (b *builder) block(name string, k *block) {
	elements := mul(k.width, k.length)
	for i := range k.norms {
		b.norm(name+".norm"+strconv.Itoa(i+1), k.normParams(k.width), elements)
	}
	b.attention(name+".attention", k, k.length)
	if k.memory > 0 {
		b.norm(name+".cross_norm", k.normParams(k.width), elements)
		b.attention(name+".cross_attention", k, k.memory)
	}
	if k.experts > 0 {
		b.mixture(name+".experts", k)
	} else {
		b.feedForward(name+".mlp", k)
	}
}

// attention appends one attention from the block's positions to keys positions.
func (b *builder) attention(name string, k *block, keys int64) {
	queryWidth, keyWidth := mul(k.heads, k.headSize), mul(k.kvHeads, k.headSize)
	if k.fused {
		b.linear(name+".qkv", k.width, add(queryWidth, keyWidth, keyWidth), k.length, k.qkvBias)
	} else {
		b.linear(name+".query", k.width, queryWidth, k.length, k.qkvBias)
		b.linear(name+".key", k.width, keyWidth, keys, k.qkvBias)
		b.linear(name+".value", k.width, keyWidth, keys, k.qkvBias)
	}
	if k.qkNorm > 0 {
		b.norm(name+".query_norm", k.normParams(k.qkNorm), mul(queryWidth, k.length))
		b.norm(name+".key_norm", k.normParams(k.qkNorm), mul(keyWidth, keys))
	}
	b.scores(name+".scores", k.heads, k.length, keys, queryWidth)
	b.dropout(k.dropMix, name+".dropout", mul(k.heads, k.length, keys))
	b.linear(name+".output", queryWidth, k.width, k.length, k.outBias)
	b.dropout(k.dropouts, name+".output_dropout", mul(k.width, k.length))
}

func (b *builder) feedForward(name string, k *block) {
	if k.gated {
		b.linear(name+".gate", k.width, k.inner, k.length, k.mlpBias)
	}
	b.linear(name+".up", k.width, k.inner, k.length, k.mlpBias)
	b.activation(name+".activation", mul(k.inner, k.length))
	b.linear(name+".down", k.inner, k.width, k.length, k.mlpBias)
	b.dropout(k.dropouts, name+".dropout", mul(k.width, k.length))
}

// mixture appends a router and its experts; each position goes through active
// of them.
func (b *builder) mixture(name string, k *block) {
	each, routed := mul(k.width, k.inner), mul(k.active, k.length)
	b.linear(name+".router", k.width, k.experts, k.length, false)
	b.experts(name+".gate", each, k.inner, k.experts, routed)
	b.experts(name+".up", each, k.inner, k.experts, routed)
	b.activation(name+".activation", mul(k.inner, routed))
	b.experts(name+".down", each, k.width, k.experts, routed)
}

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
