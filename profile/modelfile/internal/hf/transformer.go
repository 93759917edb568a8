package hf

import (
	"strconv"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// block is one transformer block: attention, optional cross-attention and a
// feed-forward part, as the members say.
type block struct {
	width    int64 // of the residual stream
	heads    int64
	valueDim int64 // of one head; 0 is headSize
	kvHeads  int64
	headSize int64
	inner    int64 // width of the feed-forward part
	length   int64 // positions
	memory   int64 // positions of the encoder's output; 0 has no cross-attention

	rms       bool  // norms have a scale but no shift
	norms     int   // norms of the block, cross-attention's apart
	qkNorm    int64 // width of the norms of queries and keys; 0 has none
	qkvBias   bool
	outBias   bool
	mlpBias   bool
	fused     bool  // queries, keys and values come from one dense layer
	gated     bool  // the feed-forward part has a gate
	experts   int64 // 0 has one plain feed-forward part
	active    int64 // experts that one position goes through
	expertIn  int64 // width of one expert; 0 is inner
	shared    int64 // width of the expert that all positions go through; 0 has none
	gateOne   bool  // a gate of one unit before the shared expert
	narrow    int64 // width in which the experts work; 0 is that of the residual stream
	biasMix   bool  // router and experts have biases
	sinks     bool  // a learned sink for each head
	gateQuery bool  // queries bring a gate of their width
	keyPlain  bool  // keys have no bias where queries and values have
	latent    *latent
	dropouts  bool // dropout after attention and feed-forward part
	dropMix   bool // dropout on the attention probabilities
}

// biased is a block of plain attention and a plain feed-forward part with biases
// everywhere, as most networks before Llama have.
func (c *config) biased(width, heads, inner, length int64) *block {
	return &block{
		width: width, heads: heads, kvHeads: heads, headSize: c.headSize(width, heads), inner: inner, length: length,
		norms: 2, qkvBias: true, outBias: true, mlpBias: true,
	}
}

// normParams is what one norm over a width holds.
func (k *block) normParams(width int64) int64 {
	if k.rms {
		return width
	}
	return scan.Mul(2, width)
}

// stack appends depth blocks under a prefix; bias is the number of entries of a
// table of relative position biases that the first block holds for all.
func (b *builder) stack(prefix string, depth int, k *block, bias int64) {
	for i := range depth {
		if b.fault != nil {
			return
		}
		b.oneBlock(prefix, i, k)
		if i == 0 && bias > 0 {
			b.embedding(prefix+".layers.0.attention.position_bias", bias, k.heads, scan.Mul(k.length, k.length))
		}
	}
}

// oneBlock appends the i-th block of a stack whose blocks differ.
func (b *builder) oneBlock(prefix string, i int, k *block) {
	if b.fault == nil {
		b.block(prefix+".layers."+strconv.Itoa(i), k)
	}
}

func (b *builder) block(name string, k *block) {
	elements := scan.Mul(k.width, k.length)
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
	queryWidth, keyWidth := scan.Mul(k.heads, k.headSize), scan.Mul(k.kvHeads, k.headSize)
	valueWidth, mixWidth, asked := keyWidth, queryWidth, queryWidth
	if k.valueDim > 0 {
		valueWidth, mixWidth = scan.Mul(k.kvHeads, k.valueDim), scan.Mul(k.heads, k.valueDim)
	}
	if k.gateQuery {
		asked = scan.Mul(2, queryWidth)
	}
	if k.latent != nil {
		b.latent(name, k, keys)
		return
	}
	if k.fused {
		b.linear(name+".qkv", k.width, scan.Add(asked, keyWidth, valueWidth), k.length, k.qkvBias)
	} else {
		b.linear(name+".query", k.width, asked, k.length, k.qkvBias)
		b.linear(name+".key", k.width, keyWidth, keys, k.qkvBias && !k.keyPlain)
		b.linear(name+".value", k.width, valueWidth, keys, k.qkvBias)
	}
	if k.qkNorm > 0 {
		b.norm(name+".query_norm", k.normParams(min(k.qkNorm, queryWidth)), scan.Mul(queryWidth, k.length))
		b.norm(name+".key_norm", k.normParams(min(k.qkNorm, keyWidth)), scan.Mul(keyWidth, keys))
	}
	if k.sinks {
		b.embedding(name+".sinks", k.heads, 1, 1)
	}
	b.scores(name+".scores", k.heads, k.length, keys, scan.Add(queryWidth, mixWidth)/2)
	b.dropout(k.dropMix && b.eager, name+".dropout", scan.Mul(k.heads, k.length, keys)) // a fused kernel draws it anew
	b.linear(name+".output", mixWidth, k.width, k.length, k.outBias)
	b.dropout(k.dropouts, name+".output_dropout", scan.Mul(k.width, k.length))
}

func (b *builder) feedForward(name string, k *block) {
	if k.gated {
		b.linear(name+".gate", k.width, k.inner, k.length, k.mlpBias)
	}
	b.linear(name+".up", k.width, k.inner, k.length, k.mlpBias)
	b.activation(name+".activation", scan.Mul(k.inner, k.length))
	b.linear(name+".down", k.inner, k.width, k.length, k.mlpBias)
	b.dropout(k.dropouts, name+".dropout", scan.Mul(k.width, k.length))
}

// mixture appends a router and its experts; each position goes through active
// of them, and through the shared one.
func (b *builder) mixture(name string, k *block) {
	inner := k.inner
	if k.expertIn > 0 {
		inner = k.expertIn
	}
	narrow := k.width
	if k.narrow != 0 {
		narrow = k.narrow
		b.linear(name+".narrow", k.width, narrow, k.length, false)
	}
	each, routed := scan.Mul(narrow, inner), scan.Mul(k.active, k.length)
	up, down := each, each
	if k.biasMix {
		up, down = scan.Add(each, inner), scan.Add(each, narrow)
	}
	b.linear(name+".router", k.width, k.experts, k.length, k.biasMix)
	if k.gated {
		b.experts(name+".gate", up, inner, k.experts, routed)
	}
	b.experts(name+".up", up, inner, k.experts, routed)
	b.activation(name+".activation", scan.Mul(inner, routed))
	b.experts(name+".down", down, narrow, k.experts, routed)
	if k.narrow != 0 {
		b.linear(name+".wide", narrow, k.width, k.length, false)
	}
	if k.shared > 0 {
		one := *k
		one.inner = k.shared
		b.feedForward(name+".shared", &one)
		if k.gateOne {
			b.linear(name+".shared_gate", k.width, 1, k.length, false)
		}
	}
}

// latent is attention whose queries, keys and values pass through narrow layers
// (DeepSeek-V2, https://arxiv.org/abs/2405.04434), and the indexer that chooses
// keys in DeepSeek-V3.2.
type latent struct {
	queryRank, keyRank      int64 // queryRank 0 has no narrow layer for queries
	plain, rotary, valueDim int64 // of one head
	indexHeads, indexDim    int64 // 0 has no indexer
}

func (b *builder) latent(name string, k *block, keys int64) {
	a := k.latent
	query, values := scan.Mul(k.heads, scan.Add(a.plain, a.rotary)), scan.Mul(k.heads, a.valueDim)
	if a.queryRank > 0 {
		b.linear(name+".query_down", k.width, a.queryRank, k.length, k.qkvBias)
		b.norm(name+".query_norm", a.queryRank, scan.Mul(a.queryRank, k.length))
		b.linear(name+".query_up", a.queryRank, query, k.length, false)
	} else {
		b.linear(name+".query", k.width, query, k.length, false)
	}
	b.linear(name+".key_down", k.width, scan.Add(a.keyRank, a.rotary), keys, k.qkvBias)
	b.norm(name+".key_norm", a.keyRank, scan.Mul(a.keyRank, keys))
	b.linear(name+".key_value_up", a.keyRank, scan.Mul(k.heads, scan.Add(a.plain, a.valueDim)), keys, false)
	if a.indexHeads > 0 {
		b.linear(name+".index_query", max(1, a.queryRank), scan.Mul(a.indexHeads, a.indexDim), k.length, false)
		b.linear(name+".index_key", k.width, a.indexDim, keys, false)
		b.norm(name+".index_norm", scan.Mul(2, a.indexDim), scan.Mul(a.indexDim, keys))
		b.linear(name+".index_weights", k.width, a.indexHeads, k.length, false)
	}
	b.scores(name+".scores", k.heads, k.length, keys, query)
	b.linear(name+".output", values, k.width, k.length, k.outBias)
}

// builder appends the leaves of a described network. The first fault sticks.
type builder struct {
	file  *draft.Draft
	fault error
	eager bool // attention stores its scores
}

func (b *builder) add(l profile.Layer) {
	if b.fault == nil {
		b.fault = b.file.Add(l)
	}
}

// linear is a dense layer from in to out features at a number of positions.
func (b *builder) linear(name string, in, out, positions int64, bias bool) {
	biases := int64(0)
	if bias {
		biases = 1
	}
	b.experts(name, draft.Dense(in, out, biases), out, 1, positions)
}

// experts is a bank of dense layers of which each position goes through some.
func (b *builder) experts(name string, each, out, banks, positions int64) {
	b.add(profile.Layer{
		Name: name, Kind: profile.Linear, Neurons: out, Params: scan.Mul(each, banks),
		Activations: scan.Mul(out, positions), MACs: profile.Some(scan.Mul(each, positions)),
	})
}

// tied is a dense layer without bias that reuses another layer's weights.
func (b *builder) tied(name string, in, out, positions int64) {
	b.linear(name, in, out, positions, false)
	if b.fault == nil {
		b.file.Model.Layers[len(b.file.Model.Layers)-1].Params = 0
	}
}

// conv is a convolution of params weights with out channels at a number of positions.
func (b *builder) conv(name string, params, out, positions int64) {
	b.add(profile.Layer{
		Name: name, Kind: profile.Conv, Neurons: out, Params: params, Activations: scan.Mul(out, positions), MACs: profile.Some(scan.Mul(params, positions)),
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
		Name: name, Kind: profile.Embedding, Neurons: width, Params: scan.Mul(rows, width),
		Activations: scan.Mul(width, positions), MACs: profile.Some[int64](0),
	})
}

// scores is the score, softmax and mix part of attention: heads × queries ×
// keys elements, which a fused kernel never stores; two products over the width of
// all heads.
func (b *builder) scores(name string, heads, queries, keys, width int64) {
	b.add(profile.Layer{
		Name: name, Kind: profile.Attention, Activations: scan.Mul(heads, queries, keys), InPlace: !b.eager,
		MACs: profile.Some(scan.Mul(2, queries, keys, width)),
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
