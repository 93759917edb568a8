package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// bert describes BERT and its relatives.
func (c *config) bert(b *builder, o Options) {
	width, heads := c.need("hidden_size", "dim"), c.need("num_attention_heads", "n_heads")
	vocab, positions := c.need("vocab_size"), c.need("max_position_embeddings")
	usable := positions
	switch c.modelType {
	case "roberta", "camembert", "xlm-roberta":
		usable = max(1, positions-2) // positions start behind the padding index
	}
	length := c.tokens(b, o, usable)
	k := c.biased(width, heads, c.need("intermediate_size", "hidden_dim"), length)
	k.dropouts = c.positive(true, "hidden_dropout_prob", "dropout")
	k.dropMix = c.positive(true, "attention_probs_dropout_prob", "attention_dropout")
	narrow := width
	if c.modelType == "electra" || c.modelType == "deberta-v2" {
		narrow = c.count(width, "embedding_size")
	}
	elements := scan.Mul(width, length)
	b.embedding("embeddings.word", vocab, narrow, length)
	if c.modelType != "deberta-v2" || c.flag("position_biased_input", true) {
		b.embedding("embeddings.position", positions, narrow, length)
	}
	if types := c.tokenTypes(); types > 0 {
		b.embedding("embeddings.token_type", types, narrow, length)
	}
	if narrow != width {
		b.linear("embeddings.project", narrow, width, length, c.modelType == "electra")
	}
	normed := width
	if c.modelType == "electra" {
		normed = narrow
	}
	b.norm("embeddings.norm", scan.Mul(2, normed), elements)
	b.dropout(k.dropouts, "embeddings.dropout", elements)
	if c.modelType == "deberta-v2" {
		c.relative(b, width)
	}
	b.stack("encoder", c.depth("num_hidden_layers", "n_layers"), k, 0)
	c.encoderHead(b, o, width, vocab, length)
}

// tokenTypes is the number of segment embeddings; 0 has none.
func (c *config) tokenTypes() int64 {
	switch c.modelType {
	case "distilbert":
		return 0
	case "deberta-v2":
		return c.count0("type_vocab_size")
	default:
		return c.count(2, "type_vocab_size")
	}
}

// relative appends DeBERTa's relative positions, which all blocks share.
func (c *config) relative(b *builder, width int64) {
	if !c.flag("relative_attention", false) {
		return
	}
	if !c.flag("share_att_key", false) || c.has("conv_kernel_size") && c.count0("conv_kernel_size") > 0 {
		c.faults = append(c.faults, errors.New("relative positions with weights of each block are not described; "+draft.WayOut))
	}
	buckets := c.count(c.need("max_position_embeddings"), "position_buckets")
	b.embedding("encoder.rel_embeddings", scan.Mul(2, buckets), width, scan.Mul(2, buckets))
	if strings.Contains(c.text("norm_rel_ebd"), "layer_norm") {
		b.norm("encoder.norm", scan.Mul(2, width), scan.Mul(2, buckets, width))
	}
}

// albert describes ALBERT, whose blocks share the weights of one for each group.
func (c *config) albert(b *builder, o Options) {
	width, heads, narrow := c.need("hidden_size"), c.need("num_attention_heads"), c.need("embedding_size")
	vocab, positions := c.need("vocab_size"), c.need("max_position_embeddings")
	length := c.tokens(b, o, positions)
	k := c.biased(width, heads, c.need("intermediate_size"), length)
	k.dropouts, k.dropMix = c.positive(false, "hidden_dropout_prob"), c.positive(false, "attention_probs_dropout_prob")
	if c.count(1, "inner_group_num") > 1 {
		c.faults = append(c.faults, errors.New("inner_group_num above 1 is not described; "+draft.WayOut))
	}
	b.embedding("embeddings.word", vocab, narrow, length)
	b.embedding("embeddings.position", positions, narrow, length)
	b.embedding("embeddings.token_type", c.count(2, "type_vocab_size"), narrow, length)
	b.norm("embeddings.norm", scan.Mul(2, narrow), scan.Mul(narrow, length))
	b.linear("embeddings.project", narrow, width, length, true)
	groups := c.count(1, "num_hidden_groups")
	for i := range c.depth("num_hidden_layers") {
		first := len(b.file.Model.Layers)
		b.oneBlock("encoder", i, k)
		for l := first; int64(i) >= groups && l < len(b.file.Model.Layers); l++ {
			b.file.Model.Layers[l].Params = 0 // those of a block before
		}
	}
	switch o.Head {
	case LanguageHead:
		b.maskedHead(narrow, vocab, length)
	case DefaultHead:
		b.linear("pooler", width, width, 1, true)
		b.file.Warn(0, "described with the pooler, as published counts are; Options.Head LanguageHead trains it as a language model")
	case NoHead:
	}
}

// whisper describes Whisper: two convolutions over the spectrum, an encoder, and a
// decoder whose head is tied. Keys have no bias.
func (c *config) whisper(b *builder, o Options) {
	width, vocab, bins := c.need("d_model"), c.need("vocab_size"), c.count(80, "num_mel_bins")
	frames, texts := c.count(1500, "max_source_positions"), c.count(448, "max_target_positions")
	length := c.tokens(b, o, texts)
	b.file.SampleElements = profile.Some(scan.Mul(bins, 2, frames))
	side := func(name string, length, memory int64) *block {
		k := c.biased(width, c.need(name+"_attention_heads"), c.need(name+"_ffn_dim"), length)
		k.memory, k.keyPlain = memory, true
		k.dropouts, k.dropMix = c.positive(false, "dropout"), c.positive(false, "attention_dropout")
		return k
	}
	for i, in := range []int64{bins, width} {
		at := scan.Mul(frames, int64(2-i))
		b.conv("encoder.conv", scan.Add(scan.Mul(3, in, width), width), width, at)
		b.activation("encoder.conv.activation", scan.Mul(width, at))
	}
	b.embedding("encoder.positions", frames, width, frames)
	b.stack("encoder", c.depth("encoder_layers"), side("encoder", frames, 0), 0)
	b.norm("encoder.norm", scan.Mul(2, width), scan.Mul(width, frames))
	b.embedding("decoder.tokens", vocab, width, length)
	b.embedding("decoder.positions", texts, width, length)
	b.stack("decoder", c.depth("decoder_layers"), side("decoder", length, frames), 0)
	b.norm("decoder.norm", scan.Mul(2, width), scan.Mul(width, length))
	c.languageHead(b, o, width, vocab, length, true, false)
}

// clipText describes the text half of CLIP.
func (c *config) clipText(b *builder, o Options) {
	width, heads, positions := c.count(512, "hidden_size"), c.count(8, "num_attention_heads"), c.count(77, "max_position_embeddings")
	length := c.tokens(b, o, positions)
	k := c.biased(width, heads, c.count(2048, "intermediate_size"), length)
	b.embedding("text.tokens", c.count(49408, "vocab_size"), width, length)
	b.embedding("text.positions", positions, width, length)
	b.stack("text", c.depthOr(12, "num_hidden_layers"), k, 0)
	b.norm("text.norm", scan.Mul(2, width), scan.Mul(width, length))
	if c.mentions("WithProjection") {
		b.linear("text.projection", width, c.count(512, "projection_dim"), 1, false)
	}
}

// clipVision describes the image half of CLIP.
func (c *config) clipVision(b *builder, _ Options) {
	width, heads := c.count(768, "hidden_size"), c.count(12, "num_attention_heads")
	image, patch, channels := c.count(224, "image_size"), c.count(32, "patch_size"), c.count(3, "num_channels")
	side := max(1, image/patch)
	patches := scan.Mul(side, side)
	length := scan.Add(patches, 1)
	k := c.biased(width, heads, c.count(3072, "intermediate_size"), length)
	b.conv("vision.patches", scan.Mul(width, channels, patch, patch), width, patches)
	b.embedding("vision.class", 1, width, 1)
	b.embedding("vision.positions", length, width, length)
	b.norm("vision.pre_norm", scan.Mul(2, width), scan.Mul(width, length))
	b.stack("vision", c.depthOr(12, "num_hidden_layers"), k, 0)
	b.norm("vision.post_norm", scan.Mul(2, width), width)
	if c.mentions("WithProjection") {
		b.linear("vision.projection", width, c.count(512, "projection_dim"), 1, false)
	}
}

// clip describes both halves of CLIP with their projections.
func (c *config) clip(b *builder, o Options) {
	half := func(key string) *config {
		h := &config{}
		if raw := c.find1(key); raw == nil || json.Unmarshal(raw, &h.fields) != nil {
			c.faults = append(c.faults, fmt.Errorf("%s is missing", key))
		}
		return h
	}
	text, vision := half("text_config"), half("vision_config")
	if len(c.faults) > 0 {
		return
	}
	text.clipText(b, o)
	vision.clipVision(b, o)
	joint := c.count(512, "projection_dim")
	b.linear("text_projection", text.count(512, "hidden_size"), joint, 1, false)
	b.linear("visual_projection", vision.count(768, "hidden_size"), joint, 1, false)
	b.embedding("logit_scale", 1, 1, 1)
	c.faults = append(append(c.faults, text.faults...), vision.faults...)
}

// t5 describes T5, Flan-T5 and mT5: no biases, RMS norms, relative positions whose
// table the first block of each stack holds.
func (c *config) t5(b *builder, o Options) {
	width, heads, vocab := c.need("d_model"), c.need("num_heads"), c.need("vocab_size")
	length := c.tokens(b, o, c.count(512, "n_positions"))
	drops := c.positive(true, "dropout_rate")
	k := block{
		width: width, heads: heads, kvHeads: heads, headSize: c.need("d_kv"), inner: c.need("d_ff"), length: length,
		rms: true, norms: 2, gated: c.flag("is_gated_act", false) || strings.HasPrefix(c.text("feed_forward_proj"), "gated-") || c.modelType == "mt5" && !c.has("feed_forward_proj"),
		dropouts: drops, dropMix: drops,
	}
	buckets := c.count(32, "relative_attention_num_buckets")
	depth := c.depth("num_layers")
	b.embedding("shared", vocab, width, length)
	b.stack("encoder", depth, &k, buckets)
	b.norm("encoder.final_norm", width, scan.Mul(width, length))
	if c.mentions("EncoderModel") || strings.Contains(c.path, "text_encoder") { // as pipelines call their folders
		b.file.Warn(0, "described as an encoder alone")
		return
	}
	if c.has("num_decoder_layers") {
		depth = c.depth("num_decoder_layers")
	}
	k.memory = length
	b.stack("decoder", depth, &k, buckets)
	b.norm("decoder.final_norm", width, scan.Mul(width, length))
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", c.modelType == "t5"), false)
}

// bart describes BART, and Marian, whose positions are fixed sinusoids without
// parameters.
func (c *config) bart(b *builder, o Options) {
	width, vocab, positions := c.need("d_model"), c.need("vocab_size"), c.need("max_position_embeddings")
	length := c.tokens(b, o, positions)
	drops, dropMix := c.positive(true, "dropout"), c.positive(false, "attention_dropout")
	side := func(name string, memory int64) *block {
		k := c.biased(width, c.need(name+"_attention_heads"), c.need(name+"_ffn_dim"), length)
		k.memory, k.dropouts, k.dropMix = memory, drops, dropMix
		return k
	}
	elements, learned := scan.Mul(width, length), c.modelType != "marian"
	start := func(stack string) {
		if learned {
			b.embedding(stack+".positions", positions+2, width, length)
			b.norm(stack+".embedding_norm", scan.Mul(2, width), elements)
		}
		b.dropout(drops, stack+".dropout", elements)
	}
	b.embedding("shared", vocab, width, length)
	start("encoder")
	b.stack("encoder", c.depth("encoder_layers"), side("encoder", 0), 0)
	if c.modelType == "mbart" {
		b.norm("encoder.norm", scan.Mul(2, width), elements)
	}
	start("decoder")
	b.stack("decoder", c.depth("decoder_layers"), side("decoder", length), 0)
	if c.modelType == "mbart" {
		b.norm("decoder.norm", scan.Mul(2, width), elements)
	}
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
	patches := scan.Mul(side, side)
	b.file.SampleElements = profile.Some(min(scan.Mul(channels, image, image), profile.MaxCount))
	tokens := int64(1)
	if c.modelType == "deit" {
		tokens = 2 // and one for distillation
	}
	length := scan.Add(patches, tokens)
	k := c.biased(width, heads, c.need("intermediate_size"), length)
	k.qkvBias = c.flag("qkv_bias", true)
	k.dropouts, k.dropMix = c.positive(false, "hidden_dropout_prob"), c.positive(false, "attention_probs_dropout_prob")
	b.conv("patch_embeddings", scan.Add(scan.Mul(width, channels, patch, patch), width), width, patches)
	b.embedding("cls_token", tokens, width, tokens)
	b.embedding("position_embeddings", length, width, length)
	b.stack("encoder", c.depth("num_hidden_layers"), k, 0)
	b.norm("layernorm", scan.Mul(2, width), scan.Mul(width, length))
	if labels := c.labels(); labels > 0 && o.Head != NoHead {
		b.linear("classifier", width, labels, 1, true)
		if c.mentions("WithTeacher") {
			b.linear("distillation_classifier", width, labels, 1, true)
		}
	} else if o.Head == DefaultHead {
		b.linear("pooler", width, width, 1, true)
		b.activation("pooler.activation", width)
	}
}
