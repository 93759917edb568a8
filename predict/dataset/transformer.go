package dataset

import "example.com/colloc/profile"

// blocks are equal blocks of a transformer.
type blocks struct {
	width, inner, depth, heads, tokens int64

	joint    bool   // queries, keys and values come from one dense layer
	fused    bool   // scores are never stored
	first    bool   // norms stand before attention and feed-forward part, not behind them
	dropouts int    // dropouts of a block: 2 of the residual stream, 3 with the feed-forward part's own
	function string // the non-linearity
	bare     bool   // no parameters but those of the matrices
}

// transformer appends blocks to a network.
func (b *architecture) transformer(k *blocks) {
	stream, square := k.width*k.tokens, k.width*k.width
	norm, bias, wide := 2*k.width, k.width, k.inner
	if k.bare {
		norm, bias, wide = 0, 0, 0
	}
	add := b.add
	drop := func(least int, out int64) {
		if k.dropouts >= least {
			add("dropout", profile.Dropout, 0, out)
		}
	}
	scores := "scores"
	if k.fused {
		scores = "fused"
	}
	for range k.depth {
		if k.first {
			add("norm", profile.Norm, norm, stream)
		}
		if k.joint {
			add("qkv", profile.Linear, 3*(square+bias), 3*stream)
		} else {
			for _, name := range []string{"query", "key", "value"} {
				add(name, profile.Linear, square+bias, stream)
			}
		}
		add(scores, profile.Attention, 0, k.heads*k.tokens*k.tokens)
		if !k.fused {
			drop(2, k.heads*k.tokens*k.tokens)
		}
		add("output", profile.Linear, square+bias, stream)
		drop(2, stream)
		add("norm", profile.Norm, norm, stream)
		add("up", profile.Linear, k.width*k.inner+wide, k.inner*k.tokens)
		add(k.function, profile.Activation, 0, k.inner*k.tokens)
		drop(3, k.inner*k.tokens)
		add("down", profile.Linear, k.inner*k.width+bias, stream)
		drop(2, stream)
		if !k.first {
			add("norm", profile.Norm, norm, stream)
		}
	}
}

// bert is BERT-base of 2022, which stores scores, with a classifier of the first token.
func (b *architecture) bert(tokens int64) {
	const width, vocab, classes = 768, 30522, 2
	b.add("embedding", profile.Embedding, (vocab+512+2)*width, width*tokens)
	b.add("norm", profile.Norm, 2*width, width*tokens)
	b.add("dropout", profile.Dropout, 0, width*tokens)
	b.transformer(&blocks{
		width: width, inner: 4 * width, depth: 12, heads: 12, tokens: tokens, dropouts: 2, function: "gelu",
	})
	b.add("pooler", profile.Linear, width*(width+1), width)
	b.add("tanh", profile.Activation, 0, width)
	b.add("head", profile.Linear, (width+1)*classes, classes)
}
