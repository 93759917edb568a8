package modelfile

import (
	"encoding/json"
	"errors"
	"strings"

	"example.com/colloc/profile"
)

// describe appends the leaves of the configured model.
func (c *config) describe(b *builder, o Options) {
	switch c.modelType {
	case "llama", "mistral", "qwen2", "qwen3", "qwen3_moe", "gemma", "mixtral", "phi3":
		c.llama(b, o)
	case "phi":
		c.phi(b, o)
	case "gpt2":
		c.gpt2(b, o)
	case "gpt_neox":
		c.neox(b, o)
	case "opt":
		c.opt(b, o)
	case "bert", "roberta", "distilbert":
		c.bert(b, o)
	case "t5":
		c.t5(b, o)
	case "bart", "marian":
		c.bart(b, o)
	case "vit":
		c.vit(b, o)
	default:
		c.unknown(b, o)
	}
}

// unknown describes a type that this package does not know as its relative.
func (c *config) unknown(b *builder, o Options) {
	if inner := c.inner(); inner != nil {
		b.file.warn(0, "model_type %q holds several models: its text model is described alone", clip(c.modelType))
		inner.describe(b, o)
		c.faults = append(c.faults, inner.faults...)
		return
	}
	relative, describe := "bert", c.bert
	switch {
	case c.has("image_size") && c.has("patch_size"):
		relative, describe = "vit", c.vit
	case c.has("encoder_layers") && c.has("d_model"):
		relative, describe = "bart", c.bart
	case c.has("d_kv", "d_ff"):
		relative, describe = "t5", c.t5
	case c.has("rms_norm_eps") || c.has("num_key_value_heads"):
		relative, describe = "llama", c.llama
	case c.has("n_embd"):
		relative, describe = "gpt2", c.gpt2
	case !c.has("hidden_size", "dim"):
		c.faults = append(c.faults, errors.New("no hidden_size: not the configuration of a model that this package knows"))
		return
	}
	b.file.warn(0, "unknown model_type %q, described as %s", clip(c.modelType), relative)
	describe(b, o)
}

// inner returns the configuration of the text model inside one of several
// models, or nil.
func (c *config) inner() *config {
	raw, ok := c.find([]string{"text_config"})
	if !ok || c.has("hidden_size", "d_model", "n_embd") {
		return nil
	}
	inner := &config{}
	if json.Unmarshal(raw, &inner.fields) != nil {
		return nil
	}
	delete(inner.fields, "text_config") // one level is all there is
	inner.modelType = inner.text("model_type")
	return inner
}

// tokens returns the sequence length and records it as the sample's size.
func (c *config) tokens(b *builder, o Options, positions int64) int64 {
	n := int64(o.SequenceLength)
	if n == 0 {
		n = min(positions, 512)
	}
	if n < 1 || n > maxConfig {
		c.faults = append(c.faults, errors.New("Options.SequenceLength is not from 1 to 2147483648"))
		n = 1
	}
	b.file.SampleElements = profile.Some(n)
	return n
}

// languageHead appends the projection to the vocabulary of a decoder.
func (c *config) languageHead(b *builder, o Options, width, vocab, length int64, tied, bias bool) {
	switch {
	case o.Head == NoHead:
	case tied:
		b.tied("lm_head", width, vocab, length)
	default:
		b.linear("lm_head", width, vocab, length, bias)
	}
}

// llama describes the decoders with rotary positions, RMS norms and a gated
// feed-forward part.
func (c *config) llama(b *builder, o Options) {
	width, heads, vocab := c.need("hidden_size"), c.need("num_attention_heads"), c.need("vocab_size")
	length := c.tokens(b, o, c.count(512, "max_position_embeddings"))
	bias := c.flag("attention_bias", false)
	k := &block{
		width: width, heads: heads, inner: c.need("intermediate_size"), length: length,
		kvHeads: c.count(heads, "num_key_value_heads"), headSize: c.headSize(width, heads),
		rms: true, norms: 2, gated: true, qkvBias: bias, outBias: bias, mlpBias: c.flag("mlp_bias", false),
		dropMix: c.positive(false, "attention_dropout"),
	}
	tied := true // unless the file says otherwise: the library leaves its defaults out
	switch c.modelType {
	case "llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "phi3":
		tied = false
	}
	tied = c.flag("tie_word_embeddings", tied)
	switch c.modelType {
	case "mistral", "mixtral":
		k.kvHeads = c.count(min(heads, 8), "num_key_value_heads")
	case "qwen2":
		k.qkvBias = true
	case "qwen3", "qwen3_moe":
		k.qkNorm = k.headSize
	case "phi3":
		k.fused = true
	}
	experts := []string{"num_local_experts", "num_experts", "n_routed_experts"}
	if c.has(experts...) || c.modelType == "mixtral" {
		k.experts = c.count(8, experts...)
		k.active = min(k.experts, c.count(2, "num_experts_per_tok"))
		k.inner = c.count(k.inner, "moe_intermediate_size")
	}
	b.embedding("embed_tokens", vocab, width, length)
	b.stack("decoder", c.depth("num_hidden_layers"), k, 0)
	b.norm("norm", width, mul(width, length))
	c.languageHead(b, o, width, vocab, length, tied, false)
}

// headSize returns head_dim, or the width divided by the heads.
func (c *config) headSize(width, heads int64) int64 {
	if c.has("head_dim") {
		return c.need("head_dim")
	}
	if width%heads != 0 && len(c.faults) == 0 {
		c.faults = append(c.faults, errors.New("the width is not a multiple of the number of attention heads"))
	}
	return max(1, width/heads)
}

// phi describes Phi-1 and 2: attention and feed-forward part side by side
// behind one norm, biases everywhere.
func (c *config) phi(b *builder, o Options) {
	width, heads, vocab := c.need("hidden_size"), c.need("num_attention_heads"), c.need("vocab_size")
	length := c.tokens(b, o, c.count(512, "max_position_embeddings"))
	k := &block{
		width: width, heads: heads, kvHeads: c.count(heads, "num_key_value_heads"), headSize: c.headSize(width, heads),
		inner: c.need("intermediate_size"), length: length,
		norms: 1, qkvBias: true, outBias: true, mlpBias: true,
		dropouts: c.positive(false, "resid_pdrop"), dropMix: c.positive(false, "attention_dropout"),
	}
	if c.flag("qk_layernorm", false) {
		k.qkNorm = k.headSize
	}
	b.embedding("embed_tokens", vocab, width, length)
	b.dropout(c.positive(false, "embd_pdrop"), "embed_dropout", mul(width, length))
	b.stack("decoder", c.depth("num_hidden_layers"), k, 0)
	b.norm("final_layernorm", mul(2, width), mul(width, length))
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", false), true)
}

func (c *config) gpt2(b *builder, o Options) {
	width, heads, vocab := c.need("n_embd"), c.need("n_head"), c.need("vocab_size")
	positions := c.count(1024, "n_positions", "n_ctx")
	length := c.tokens(b, o, positions)
	k := &block{
		width: width, heads: heads, kvHeads: heads, headSize: c.headSize(width, heads),
		inner: c.count(mul(4, width), "n_inner"), length: length,
		norms: 2, fused: true, qkvBias: true, outBias: true, mlpBias: true,
		dropouts: c.positive(true, "resid_pdrop"), dropMix: c.positive(true, "attn_pdrop"),
	}
	b.embedding("wte", vocab, width, length)
	b.embedding("wpe", positions, width, length)
	b.dropout(c.positive(true, "embd_pdrop"), "drop", mul(width, length))
	b.stack("decoder", c.depth("n_layer"), k, 0)
	b.norm("ln_f", mul(2, width), mul(width, length))
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", true), false)
}

// neox describes GPT-NeoX and Pythia.
func (c *config) neox(b *builder, o Options) {
	width, heads, vocab := c.need("hidden_size"), c.need("num_attention_heads"), c.need("vocab_size")
	length := c.tokens(b, o, c.count(512, "max_position_embeddings"))
	bias := c.flag("attention_bias", true)
	k := &block{
		width: width, heads: heads, kvHeads: heads, headSize: c.headSize(width, heads),
		inner: c.need("intermediate_size"), length: length,
		norms: 2, fused: true, qkvBias: bias, outBias: bias, mlpBias: true,
		dropouts: c.positive(false, "hidden_dropout"), dropMix: c.positive(false, "attention_dropout"),
	}
	b.embedding("embed_in", vocab, width, length)
	b.stack("decoder", c.depth("num_hidden_layers"), k, 0)
	b.norm("final_layer_norm", mul(2, width), mul(width, length))
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", false), false)
}

// opt describes OPT, whose position table has two rows of padding and whose
// smallest but one member embeds tokens in fewer dimensions than it computes.
func (c *config) opt(b *builder, o Options) {
	width, heads, vocab := c.need("hidden_size"), c.need("num_attention_heads"), c.need("vocab_size")
	positions := c.need("max_position_embeddings")
	length := c.tokens(b, o, positions)
	narrow := c.count(width, "word_embed_proj_dim")
	bias := c.flag("enable_bias", true)
	k := &block{
		width: width, heads: heads, kvHeads: heads, headSize: c.headSize(width, heads),
		inner: c.need("ffn_dim"), length: length, norms: 2, qkvBias: bias, outBias: bias, mlpBias: bias,
		dropouts: c.positive(true, "dropout"), dropMix: c.positive(false, "attention_dropout"),
	}
	b.embedding("embed_tokens", vocab, narrow, length)
	b.embedding("embed_positions", positions+2, width, length)
	if narrow != width {
		b.linear("project_in", narrow, width, length, false)
	}
	b.stack("decoder", c.depth("num_hidden_layers"), k, 0)
	if c.flag("do_layer_norm_before", true) && !c.flag("_remove_final_layer_norm", false) {
		b.norm("final_layer_norm", mul(2, width), mul(width, length))
	}
	if narrow != width {
		b.linear("project_out", width, narrow, length, false)
	}
	c.languageHead(b, o, narrow, vocab, length, c.flag("tie_word_embeddings", true), false)
}

// mentions says whether an entry of architectures contains a word.
func (c *config) mentions(word string) bool {
	return strings.Contains(string(c.fields["architectures"]), word)
}
