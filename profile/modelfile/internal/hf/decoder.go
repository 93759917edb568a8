package hf

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// llama describes the decoders with rotary positions and a gated feed-forward
// part, most of them with RMS norms.
func (c *config) llama(b *builder, o Options) {
	width, heads, vocab := c.need("hidden_size"), c.need("num_attention_heads"), c.need("vocab_size", "padded_vocab_size")
	length := c.tokens(b, o, c.count(512, "max_position_embeddings", "seq_length"))
	bias := c.flag("attention_bias", false)
	k := &block{
		width: width, heads: heads, length: length,
		kvHeads: c.count(heads, "num_key_value_heads"), headSize: c.headSize(width, heads),
		rms: true, norms: 2, gated: true, qkvBias: bias, outBias: bias, mlpBias: c.flag("mlp_bias", false),
		dropMix: c.positive(false, "attention_dropout"),
	}
	c.variant(k)
	tied := c.modelType == "gemma" || c.modelType == "gemma2" || c.modelType == "gemma3_text" || c.modelType == "starcoder2" ||
		strings.HasPrefix(c.modelType, "cohere") || c.modelType == "smollm3" || c.modelType == "ernie4_5" // the library's default, which files leave out
	tied = c.flag("tie_word_embeddings", tied)
	c.mixtureOf(k)
	if k.experts == 0 || c.modelType != "qwen3_moe" && c.modelType != "qwen3_vl_moe_text" && c.modelType != "qwen2_moe" || c.has("intermediate_size") {
		k.inner = c.need("intermediate_size", "ffn_hidden_size")
	}
	if c.modelType == "qwen" {
		k.inner /= 2
	}
	plain := *k
	plain.experts = 0
	if c.has("intermediate_size_mlp") {
		plain.inner = c.need("intermediate_size_mlp")
	}
	b.embedding("embed_tokens", vocab, width, length)
	depth, step := c.depth("num_hidden_layers", "num_layers"), 1
	if k.experts > 0 {
		step = int(min(c.count(1, "interleave_moe_layer_step", "decoder_sparse_step"), maxBlocks))
	}
	dense, first := c.list("mlp_only_layers"), int64(0)
	if c.modelType == "glm4_moe" {
		first = c.count0("first_k_dense_replace")
	}
	for i := range depth {
		kind := k
		if k.experts > 0 && ((i+1)%step != 0 || int64(i) < first || slices.Contains(dense, int64(i))) {
			kind = &plain
		}
		b.oneBlock("decoder", i, kind)
	}
	b.norm("norm", k.normParams(width), scan.Mul(width, length))
	c.languageHead(b, o, width, vocab, length, tied, false)
	if c.modelType == "glm4_moe" {
		c.withoutNextTokens(b, "num_nextn_predict_layers")
	}
}

// variant sets what tells one relative of Llama from another.
func (c *config) variant(k *block) {
	switch c.modelType {
	case "mistral", "mixtral":
		k.kvHeads = c.count(min(k.heads, 8), "num_key_value_heads")
	case "qwen2", "qwen2_moe", "qwen2_vl_text", "qwen2_5_vl_text":
		k.qkvBias = c.flag("qkv_bias", true)
	case "qwen":
		k.qkvBias, k.fused = true, true
	case "qwen3", "qwen3_moe", "qwen3_vl_text", "qwen3_vl_moe_text":
		k.qkNorm = k.headSize
	case "gemma3_text":
		k.qkNorm, k.norms = k.headSize, 4
	case "gemma2":
		k.norms = 4
	case "olmo2", "olmo3", "olmoe", "minimax_m2":
		k.qkNorm = scan.Mul(k.heads, k.headSize)
	case "phi3", "baichuan":
		k.fused = true
	case "gpt_oss":
		k.sinks, k.biasMix = true, true
	case "stablelm":
		k.rms, k.qkvBias = false, c.flag("use_qkv_bias", false)
		if c.flag("use_parallel_residual", false) {
			k.norms = 1
		}
		if c.flag("qk_layernorm", false) {
			c.faults = append(c.faults, errors.New("qk_layernorm is not described for stablelm; "+draft.WayOut))
		}
	case "starcoder2":
		all := c.flag("use_bias", true)
		k.rms, k.gated, k.qkvBias, k.outBias, k.mlpBias = false, false, all, all, all
		k.kvHeads = c.count(min(k.heads, 2), "num_key_value_heads")
	case "glm", "glm4", "glm4_moe":
		k.outBias = false
		if c.modelType == "glm4" {
			k.norms = 4
		}
		if c.modelType == "glm4_moe" && c.flag("use_qk_norm", false) {
			k.qkNorm = k.headSize
		}
	case "ernie4_5":
		all := c.flag("use_bias", false)
		k.qkvBias, k.outBias, k.mlpBias = all, all, all
	case "cohere", "cohere2":
		k.norms = 1
		if c.flag("use_qk_norm", false) {
			c.faults = append(c.faults, errors.New("use_qk_norm is not described for cohere; "+draft.WayOut))
		}
	case "chatglm":
		k.headSize, k.fused = c.count(k.headSize, "kv_channels"), true
		if c.flag("multi_query_attention", false) {
			k.kvHeads = c.need("multi_query_group_num")
		}
		k.qkvBias = c.flag("add_qkv_bias", false)
		k.outBias = c.flag("add_bias_linear", false)
		k.mlpBias = k.outBias
	}
}

// mixtureOf sets the experts of a block.
func (c *config) mixtureOf(k *block) {
	experts := []string{"num_local_experts", "num_experts", "n_routed_experts"}
	if !c.has(experts...) && c.modelType != "mixtral" {
		return
	}
	k.experts = c.count(8, experts...)
	k.active = min(k.experts, c.count(2, "num_experts_per_tok", "experts_per_token"))
	k.expertIn = c.count(0, "moe_intermediate_size")
	k.shared = c.count0("shared_expert_intermediate_size")
	k.gateOne = k.shared > 0
	if c.modelType == "llama4_text" {
		k.shared = c.need("intermediate_size")
	}
	if n := c.count0("n_shared_experts"); n > 0 {
		k.shared = scan.Mul(n, k.expertIn)
	}
}

// deepseek describes DeepSeek-V2 and V3 and what was built after them: latent
// attention, the first blocks dense, experts with shared ones in the others.
func (c *config) deepseek(b *builder, o Options) {
	width, heads, vocab := c.need("hidden_size"), c.need("num_attention_heads"), c.need("vocab_size")
	length := c.tokens(b, o, c.count(512, "max_position_embeddings"))
	bias := c.flag("attention_bias", false)
	k := &block{
		width: width, heads: heads, length: length, inner: c.need("intermediate_size"), rms: true, norms: 2, gated: true, qkvBias: bias, outBias: bias,
		latent: &latent{
			queryRank: c.count(0, "q_lora_rank"), keyRank: c.need("kv_lora_rank"), plain: c.need("qk_nope_head_dim"),
			rotary: c.need("qk_rope_head_dim"), valueDim: c.need("v_head_dim"),
			indexHeads: c.count(0, "index_n_heads"), indexDim: c.count(128, "index_head_dim"),
		},
	}
	c.mixtureOf(k)
	plain := *k
	plain.experts = 0
	first, step := c.count0("first_k_dense_replace"), c.count(1, "moe_layer_freq")
	b.embedding("embed_tokens", vocab, width, length)
	for i := range c.depth("num_hidden_layers") {
		kind := k
		if int64(i) < first || int64(i)%step != 0 {
			kind = &plain
		}
		b.oneBlock("decoder", i, kind)
	}
	b.norm("norm", width, scan.Mul(width, length))
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", false), false)
	c.withoutNextTokens(b, "num_nextn_predict_layers")
}

// withoutNextTokens warns of layers that predict further tokens, which are not described.
func (c *config) withoutNextTokens(b *builder, key string) {
	if c.count0(key) > 0 {
		b.file.Warn(0, "described without the layers for multi-token prediction, which the library leaves out too")
	}
}

// phi describes Phi-1 and 2: attention and feed-forward part side by side
// behind one norm, biases everywhere.
func (c *config) phi(b *builder, o Options) {
	width, heads, vocab := c.need("hidden_size"), c.need("num_attention_heads"), c.need("vocab_size")
	length := c.tokens(b, o, c.count(512, "max_position_embeddings"))
	k := c.biased(width, heads, c.need("intermediate_size"), length)
	k.kvHeads, k.norms = c.count(heads, "num_key_value_heads"), 1
	k.dropouts, k.dropMix = c.positive(false, "resid_pdrop"), c.positive(false, "attention_dropout")
	if c.flag("qk_layernorm", false) {
		k.qkNorm = k.headSize
	}
	b.embedding("embed_tokens", vocab, width, length)
	b.dropout(c.positive(false, "embd_pdrop"), "embed_dropout", scan.Mul(width, length))
	b.stack("decoder", c.depth("num_hidden_layers"), k, 0)
	b.norm("final_layernorm", scan.Mul(2, width), scan.Mul(width, length))
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", false), true)
}

// gpt2 describes GPT-2 and its relatives with a plain feed-forward part.
func (c *config) gpt2(b *builder, o Options) {
	width, heads := c.need("n_embd", "hidden_size", "n_embed", "d_model"), c.need("n_head", "num_attention_heads", "num_heads", "n_heads")
	vocab := c.need("vocab_size")
	positions := c.count(1024, "n_positions", "n_ctx", "max_position_embeddings", "max_seq_len", "seq_length")
	length := c.tokens(b, o, positions)
	k := c.biased(width, heads, c.count(scan.Mul(4, width), "n_inner", "ffn_hidden_size", "intermediate_size"), length)
	k.fused, k.dropouts, k.dropMix = true, c.positive(true, "resid_pdrop", "hidden_dropout", "resid_dropout"), c.positive(true, "attn_pdrop", "attention_dropout")
	learned, tied, headBias, embedNorm := true, true, false, false
	switch c.modelType {
	case "gptj", "codegen":
		k.norms, k.qkvBias, k.outBias, k.fused = 1, false, false, c.modelType == "codegen"
		learned, tied, headBias = false, false, true
	case "gpt_bigcode":
		if c.flag("multi_query", true) {
			k.kvHeads = 1
		}
	case "gpt_neo":
		k.qkvBias, k.fused = false, false
	case "bloom":
		learned, embedNorm = false, true
	case "mpt":
		learned = c.has("attn_config") && !bytes.Contains(c.find1("attn_config"), []byte(`"alibi": true`)) && !bytes.Contains(c.find1("attn_config"), []byte(`"alibi":true`)) &&
			!c.flag("alibi", false)
		if c.flag("no_bias", true) {
			k.rms, k.qkvBias, k.outBias, k.mlpBias = true, false, false, false
		}
		k.inner = scan.Mul(c.count(4, "expansion_ratio", "mlp_ratio"), width)
	case "falcon":
		learned = false
		c.falcon(k)
	}
	b.embedding("wte", vocab, width, length)
	if embedNorm {
		b.norm("embed_norm", scan.Mul(2, width), scan.Mul(width, length))
	}
	if learned {
		b.embedding("wpe", positions, width, length)
	}
	b.dropout(c.positive(c.modelType == "gpt2", "embd_pdrop"), "drop", scan.Mul(width, length))
	b.stack("decoder", c.depth("n_layer", "num_hidden_layers", "num_layers", "n_layers"), k, 0)
	b.norm("ln_f", k.normParams(width), scan.Mul(width, length))
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", tied), headBias)
}

// falcon sets what Falcon has of its own: biases seldom, one norm for attention
// and feed-forward part side by side, few keys.
func (c *config) falcon(k *block) {
	bias := c.flag("bias", false)
	k.qkvBias, k.outBias, k.mlpBias = bias, bias, bias
	switch {
	case c.flag("new_decoder_architecture", false):
		k.kvHeads, k.norms = c.count(k.heads, "num_kv_heads", "n_head_kv"), int(c.count(2, "num_ln_in_parallel_attn"))
	case c.flag("multi_query", true):
		k.kvHeads = 1
		fallthrough
	default:
		if c.flag("parallel_attn", true) {
			k.norms = 1
		}
	}
}

// neox describes GPT-NeoX and Pythia.
func (c *config) neox(b *builder, o Options) {
	width, heads, vocab := c.need("hidden_size"), c.need("num_attention_heads"), c.need("vocab_size")
	length := c.tokens(b, o, c.count(512, "max_position_embeddings"))
	bias := c.flag("attention_bias", true)
	k := c.biased(width, heads, c.need("intermediate_size"), length)
	k.fused, k.qkvBias, k.outBias = true, bias, bias
	k.dropouts, k.dropMix = c.positive(false, "hidden_dropout"), c.positive(false, "attention_dropout")
	b.embedding("embed_in", vocab, width, length)
	b.stack("decoder", c.depth("num_hidden_layers"), k, 0)
	b.norm("final_layer_norm", scan.Mul(2, width), scan.Mul(width, length))
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
	k := c.biased(width, heads, c.need("ffn_dim"), length)
	k.qkvBias, k.outBias, k.mlpBias = bias, bias, bias
	k.dropouts, k.dropMix = c.positive(true, "dropout"), c.positive(false, "attention_dropout")
	b.embedding("embed_tokens", vocab, narrow, length)
	b.embedding("embed_positions", positions+2, width, length)
	if narrow != width {
		b.linear("project_in", narrow, width, length, false)
	}
	b.stack("decoder", c.depth("num_hidden_layers"), k, 0)
	if c.flag("do_layer_norm_before", true) && !c.flag("_remove_final_layer_norm", false) {
		b.norm("final_layer_norm", scan.Mul(2, width), scan.Mul(width, length))
	}
	if narrow != width {
		b.linear("project_out", width, narrow, length, false)
	}
	c.languageHead(b, o, narrow, vocab, length, c.flag("tie_word_embeddings", true), false)
}
