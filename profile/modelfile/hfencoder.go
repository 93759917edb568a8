package modelfile

import (
	"encoding/json"
	"errors"

	"example.com/colloc/profile"
)

// bert describes BERT, RoBERTa and DistilBERT.
func (c *config) bert(b *builder, o Options) {
	width, heads := c.need("hidden_size", "dim"), c.need("num_attention_heads", "n_heads")
	vocab, positions := c.need("vocab_size"), c.need("max_position_embeddings")
	usable := positions
	if c.modelType == "roberta" {
		usable = max(1, positions-2) // positions start behind the padding index
	}
	length := c.tokens(b, o, usable)
	k := &block{
		width: width, heads: heads, kvHeads: heads, headSize: c.headSize(width, heads),
		inner: c.need("intermediate_size", "hidden_dim"), length: length,
		norms: 2, qkvBias: true, outBias: true, mlpBias: true,
		dropouts: c.positive(true, "hidden_dropout_prob", "dropout"),
		dropMix:  c.positive(true, "attention_probs_dropout_prob", "attention_dropout"),
	}
	distil := c.modelType == "distilbert"
	elements := mul(width, length)
	b.embedding("embeddings.word", vocab, width, length)
	b.embedding("embeddings.position", positions, width, length)
	if !distil {
		b.embedding("embeddings.token_type", c.count(2, "type_vocab_size"), width, length)
	}
	b.norm("embeddings.norm", mul(2, width), elements)
	b.dropout(k.dropouts, "embeddings.dropout", elements)
	b.stack("encoder", c.depth("num_hidden_layers", "n_layers"), k, 0)
	switch {
	case o.Head == LanguageHead:
		b.maskedHead(width, vocab, length)
	case o.Head == DefaultHead && !distil:
		b.linear("pooler", width, width, 1, true)
		b.activation("pooler.activation", width)
		if c.mentions("MaskedLM") || c.mentions("PreTraining") {
			b.file.warn(0, "described with the pooler, as published counts are; Options.Head LanguageHead trains it as a language model")
		}
	}
}

// maskedHead is the head of masked language models: its projection to the
// vocabulary reuses the word embedding and adds a bias for each word.
func (b *builder) maskedHead(width, vocab, length int64) {
	b.linear("cls.dense", width, width, length, true)
	b.activation("cls.activation", mul(width, length))
	b.norm("cls.norm", mul(2, width), mul(width, length))
	b.add(profile.Layer{
		Name: "cls.decoder", Kind: profile.Linear, Neurons: vocab, Params: vocab,
		Activations: mul(vocab, length), MACs: profile.Some(mul(add(width, 1), vocab, length)),
	})
}

// t5 describes T5 and Flan-T5: no biases, RMS norms, relative positions whose
// table the first block of each stack holds.
func (c *config) t5(b *builder, o Options) {
	width, heads, vocab := c.need("d_model"), c.need("num_heads"), c.need("vocab_size")
	length := c.tokens(b, o, c.count(512, "n_positions"))
	drops := c.positive(true, "dropout_rate")
	k := block{
		width: width, heads: heads, kvHeads: heads, headSize: c.need("d_kv"), inner: c.need("d_ff"), length: length,
		rms: true, norms: 2, gated: c.flag("is_gated_act", false) || isGated(c.text("feed_forward_proj")),
		dropouts: drops, dropMix: drops,
	}
	buckets := c.count(32, "relative_attention_num_buckets")
	depth := c.depth("num_layers")
	b.embedding("shared", vocab, width, length)
	b.stack("encoder", depth, &k, buckets)
	b.norm("encoder.final_norm", width, mul(width, length))
	if c.has("num_decoder_layers") {
		depth = c.depth("num_decoder_layers")
	}
	k.memory = length
	b.stack("decoder", depth, &k, buckets)
	b.norm("decoder.final_norm", width, mul(width, length))
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", true), false)
}

func isGated(projection string) bool {
	return len(projection) > 6 && projection[:6] == "gated-"
}

// bart describes BART, and Marian, whose positions are fixed sinusoids without
// parameters.
func (c *config) bart(b *builder, o Options) {
	width, vocab, positions := c.need("d_model"), c.need("vocab_size"), c.need("max_position_embeddings")
	length := c.tokens(b, o, positions)
	drops, dropMix := c.positive(true, "dropout"), c.positive(false, "attention_dropout")
	side := func(heads, inner string, memory int64) *block {
		n := c.need(heads)
		return &block{
			width: width, heads: n, kvHeads: n, headSize: c.headSize(width, n), inner: c.need(inner),
			length: length, memory: memory, norms: 2, qkvBias: true, outBias: true, mlpBias: true,
			dropouts: drops, dropMix: dropMix,
		}
	}
	elements, learned := mul(width, length), c.modelType != "marian"
	start := func(stack string) {
		if learned {
			b.embedding(stack+".positions", positions+2, width, length)
			b.norm(stack+".embedding_norm", mul(2, width), elements)
		}
		b.dropout(drops, stack+".dropout", elements)
	}
	b.embedding("shared", vocab, width, length)
	start("encoder")
	b.stack("encoder", c.depth("encoder_layers"), side("encoder_attention_heads", "encoder_ffn_dim", 0), 0)
	start("decoder")
	b.stack("decoder", c.depth("decoder_layers"), side("decoder_attention_heads", "decoder_ffn_dim", length), 0)
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", true), false)
}

// vit describes the Vision Transformer. The image is cut into square patches;
// one more position is the class token.
func (c *config) vit(b *builder, o Options) {
	width, heads := c.need("hidden_size"), c.need("num_attention_heads")
	image, patch, channels := c.need("image_size"), c.need("patch_size"), c.count(3, "num_channels")
	side := image / patch
	if side < 1 {
		c.faults = append(c.faults, errors.New("image_size is smaller than patch_size"))
	}
	patches := mul(side, side)
	b.file.SampleElements = profile.Some(min(mul(channels, image, image), profile.MaxCount))
	length := add(patches, 1)
	k := &block{
		width: width, heads: heads, kvHeads: heads, headSize: c.headSize(width, heads),
		inner: c.need("intermediate_size"), length: length,
		norms: 2, qkvBias: c.flag("qkv_bias", true), outBias: true, mlpBias: true,
		dropouts: c.positive(false, "hidden_dropout_prob"), dropMix: c.positive(false, "attention_probs_dropout_prob"),
	}
	kernel := add(mul(width, channels, patch, patch), width)
	b.add(profile.Layer{
		Name: "patch_embeddings", Kind: profile.Conv, Neurons: width, Params: kernel,
		Activations: mul(width, patches), MACs: profile.Some(mul(kernel, patches)),
	})
	b.embedding("cls_token", 1, width, 1)
	b.embedding("position_embeddings", length, width, length)
	b.stack("encoder", c.depth("num_hidden_layers"), k, 0)
	b.norm("layernorm", mul(2, width), mul(width, length))
	if labels := c.labels(); labels > 0 && o.Head != NoHead {
		b.linear("classifier", width, labels, 1, true)
	} else if o.Head == DefaultHead {
		b.linear("pooler", width, width, 1, true)
		b.activation("pooler.activation", width)
	}
}

// labels returns the number of classes of a classifier, or 0.
func (c *config) labels() int64 {
	if !c.mentions("ForImageClassification") {
		return 0
	}
	var names map[string]json.RawMessage
	if raw, ok := c.fields["id2label"]; ok && json.Unmarshal(raw, &names) == nil && len(names) > 0 {
		return int64(len(names))
	}
	return c.count(2, "num_labels") // the library's default
}
