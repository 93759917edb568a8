package modelfile

import (
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// TestSmallConfigs: networks of one block, small enough to count by hand: 8 wide, 4 heads, 16
// inside, 10 words, 4 positions. A block of the plain kind has 2*16 in its norms, 4*72 in
// attention and 280 in the feed-forward part; one of Llama's 2*8, 4*64 and 3*128.
func TestSmallConfigs(t *testing.T) {
	const (
		size    = `"hidden_size": 8, "num_attention_heads": 4, "intermediate_size": 16, "vocab_size": 10, "max_position_embeddings": 4, "num_hidden_layers": `
		one     = size + `1`
		latent  = `"kv_lora_rank": 3, "qk_nope_head_dim": 2, "qk_rope_head_dim": 1, "v_head_dim": 2, `
		bart    = `"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "vocab_size": 10`
		t5      = `"d_model": 8, "num_heads": 4, "d_kv": 2, "d_ff": 16, "num_layers": 1, "vocab_size": 10`
		vit     = one + `, "image_size": 4, "patch_size": 2`
		mamba   = `"hidden_size": 8, "num_attention_heads": 4, "head_dim": 2, "intermediate_size": 16, "vocab_size": 10, "n_groups": 1, "ssm_state_size": 2, "mamba_num_heads": 3, "mamba_head_dim": 2, "conv_kernel": 2, `
		delta   = `"linear_key_head_dim": 2, "linear_num_key_heads": 1, "linear_value_head_dim": 3, "linear_num_value_heads": 1, "linear_conv_kernel_dim": 2, `
		words   = 80
		plain   = 2*16 + 4*72 + 280
		bert    = words + 8*4 + 8*2 + 16 + plain
		cross   = plain + 16 + 4*72
		llama   = 2*8 + 4*64 + 3*128
		ends    = words + 8 + words // of Llama: words, norm, head
		pooler  = 72
		delayed = "described without the layers for multi-token prediction"
	)
	for _, c := range []struct {
		kind, rest string
		params     int64
		warning    string
	}{
		{"llama", one, ends + llama, ""},
		{"llama", one + `, "architectures": ["LlamaForSequenceClassification"]`, ends - words + llama + 2*8, ""},
		{"llama", one + `, "architectures": ["LlamaForTokenClassification"], "id2label": {"0": "a"}`, ends - words + llama + 8 + 1, ""},
		{"qwen", one, ends + llama - 3*64 + 3*8, ""}, // half as wide inside
		{"mistral", strings.NewReplacer(`"hidden_size": 8`, `"hidden_size": 32`, `_heads": 4`, `_heads": 16`).Replace(one), 2*320 + 3*32 + 2*1024 + 2*32*8*2 + 3*32*16, ""},
		{"stablelm", one, ends + llama + 3*8, ""},
		{"stablelm", one + `, "use_parallel_residual": true, "use_qkv_bias": true`, ends + llama + 3*8 - 16 + 3*8, ""},
		{"glm", one + `, "attention_bias": true`, ends + llama + 3*8, ""},
		{"glm4", one + `, "attention_bias": true`, ends + llama + 3*8 + 2*8, ""},
		{
			"glm4_moe", size + `2, "n_routed_experts": 2, "moe_intermediate_size": 4, "n_shared_experts": 1, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1, "use_qk_norm": true`,
			ends + 2*llama + 2*2*2 - 3*128 + 8*2 + 2*3*32 + 3*32, delayed,
		},
		{"glm4_moe", one + `, "num_nextn_predict_layers": 0, "use_qk_norm": false`, ends + llama, ""},
		{"glm", one + `, "use_qk_norm": true, "num_nextn_predict_layers": 1`, ends + llama, ""},
		{"llama4_text", size + `4, "interleave_moe_layer_step": 2, "intermediate_size_mlp": 32, "num_local_experts": 2`, ends + 2*(llama+3*128) + 2*(llama+8*2+2*3*128), ""},
		{"ernie4_5", one, ends - words + llama, ""},
		{"ernie4_5", one + `, "use_bias": true`, ends - words + llama + 4*8 + 2*16 + 8, ""},
		{"cohere", one, ends - words + llama - 8, ""},
		{
			"chatglm", one + `, "kv_channels": 3, "multi_query_attention": true, "multi_query_group_num": 1, "add_qkv_bias": true, "add_bias_linear": true`,
			ends + 2*8 + 9*(12+2*3) + 12*8 + 8 + 3*128 + 2*16 + 8, "",
		},
		{"mixtral", one, ends + llama - 3*128 + 8*8 + 8*3*128, ""},
		{"deepseek_v3", latent + one, ends + 16 + 8*12 + 8*4 + 3 + 3*16 + 64 + 3*128, ""},
		{"deepseek_v3", latent + one + `, "q_lora_rank": 5`, ends + 16 + 8*5 + 5 + 5*12 + 8*4 + 3 + 3*16 + 64 + 3*128, ""},
		{"deepseek_v32", latent + one + `, "index_n_heads": 1, "index_head_dim": 3`, ends + 16 + 8*12 + 8*4 + 3 + 3*16 + 64 + 3*128 + 3 + 8*3 + 2*3 + 8, ""},
		{
			"deepseek_v3", latent + size + `3, "n_routed_experts": 2, "moe_intermediate_size": 4, "moe_layer_freq": 2, "num_nextn_predict_layers": 1`,
			ends + 3*(16+8*12+8*4+3+3*16+64) + 3*128 + 2*(8*2+2*3*32), delayed,
		},
		{"phi", one, words + 16 + 4*72 + 280 + 16 + words + 10, ""},
		{"phi", one + `, "qk_layernorm": true, "embd_pdrop": 0.1`, words + 16 + 4*72 + 2*2*2 + 280 + 16 + words + 10, ""},
		{"gpt2", `"n_embd": 8, "n_head": 4, "n_layer": 1, "vocab_size": 10`, words + 8*1024 + plain - 280 + 9*32 + 33*8 + 16, ""},
		{"gpt_neo", one, words + 8*4 + plain - 3*8 + 16, ""},
		{"gptj", one, words + 16 + 4*64 + 280 + 16 + words + 10, ""},
		{"bloom", one, words + 16 + plain + 16, ""},
		{"mpt", `"d_model": 8, "n_heads": 4, "n_layers": 1, "vocab_size": 10`, words + 2*8 + 4*64 + 2*8*32 + 8, ""},
		{"mpt", `"d_model": 8, "n_heads": 4, "n_layers": 1, "vocab_size": 10, "no_bias": false, "expansion_ratio": 2, "max_seq_len": 4, "attn_config": {"alibi": false}`, words + 8*4 + plain + 16, ""},
		{"falcon", one, words + 16 + 8*(8+2*2) + 64 + 2*128 + 16, ""},
		{"falcon", one + `, "parallel_attn": false`, words + 2*16 + 8*(8+2*2) + 64 + 2*128 + 16, ""},
		{"falcon", one + `, "multi_query": false`, words + 16 + 4*64 + 2*128 + 16, ""},
		{"falcon", one + `, "new_decoder_architecture": true`, words + 2*16 + 4*64 + 2*128 + 16, ""},
		{"falcon", one + `, "new_decoder_architecture": true, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1`, words + 16 + 8*(8+2*4) + 64 + 2*128 + 16, ""},
		{"gpt_neox", one, words + plain + 16 + words, ""},
		{"opt", one + `, "ffn_dim": 16, "word_embed_proj_dim": 4`, 40 + 8*6 + 32 + plain + 16 + 32, ""},
		{"bert", one, words + 8*4 + 8*2 + 16 + plain + pooler, ""},
		{"electra", one + `, "embedding_size": 4`, 40 + 4*4 + 4*2 + 5*8 + 8 + plain, ""},
		{"electra", one + `, "embedding_size": 4, "architectures": ["ElectraForPreTraining"]`, 40 + 4*4 + 4*2 + 5*8 + 8 + plain + 72 + 9, ""},
		{"deberta-v2", one + `, "embedding_size": 4`, 40 + 4*4 + 4*8 + 16 + plain, ""},
		{"albert", size + `3, "embedding_size": 4`, 40 + 4*4 + 4*2 + 8 + 5*8 + plain + pooler, "described with the pooler"},
		{"albert", size + `3, "embedding_size": 4, "num_hidden_groups": 2`, 40 + 4*4 + 4*2 + 8 + 5*8 + 2*plain + pooler, "described with the pooler"},
		{"whisper", bart, 80*8*3 + 8 + 8*8*3 + 8 + 8*1500 + plain - 8 + 16 + words + 8*448 + cross - 2*8 + 16, ""},
		{"clip_text_model", one + `, "projection_dim": 5`, words + 8*4 + plain + 16, ""},
		{"clip_text_model", one + `, "projection_dim": 5, "architectures": ["CLIPTextModelWithProjection"]`, words + 8*4 + plain + 16 + 8*5, ""},
		{"clip_vision_model", one + `, "image_size": 4, "patch_size": 8, "num_channels": 1`, 8*64 + 8 + 8*2 + 16 + plain + 16, ""},
		{"clip_vision_model", one + `, "image_size": 4, "patch_size": 2, "projection_dim": 5, "architectures": ["CLIPVisionModelWithProjection"]`, 8*12 + 8 + 8*5 + 16 + plain + 16 + 8*5, ""},
		{"t5", t5, words + (16 + 256 + 256 + 32*4) + 8 + (16 + 256 + 8 + 256 + 256 + 32*4) + 8, ""},
		{"t5", t5 + `, "num_decoder_layers": 2`, words + (16 + 256 + 256 + 32*4) + 8 + 2*(16+256+8+256+256) + 32*4 + 8, ""},
		{"mt5", t5, words + (16 + 256 + 384 + 32*4) + 8 + (16 + 256 + 8 + 256 + 384 + 32*4) + 8 + words, ""},
		{"t5", t5 + `, "architectures": ["T5EncoderModel"]`, words + (16 + 256 + 256 + 32*4) + 8, "described as an encoder alone"},
		{"bart", bart + `, "max_position_embeddings": 4`, words + 2*(8*6+16) + plain + cross, ""},
		{"mbart", bart + `, "max_position_embeddings": 4`, words + 2*(8*6+16) + plain + cross + 2*16, ""},
		{"marian", bart + `, "max_position_embeddings": 4`, words + plain + cross, ""},
		{"vit", vit, 8*12 + 8 + 8 + 8*5 + plain + 16 + pooler, ""},
		{"deit", vit, 8*12 + 8 + 2*8 + 8*6 + plain + 16 + pooler, ""},
		{"vit", vit + `, "architectures": ["ViTForImageClassification"]`, 8*12 + 8 + 8 + 8*5 + plain + 16 + 8*2 + 2, ""},
		{"clip_vision_model", one + `, "patch_size": 15, "num_channels": 1`, 8*15*15 + 8 + 8*(14*14+1) + 16 + plain + 16, ""},
		{"vit", vit + `, "architectures": ["ViTForImageClassification"], "id2label": {"0": "a"}`, 8*12 + 8 + 8 + 8*5 + plain + 16 + 8 + 1, ""},
		{"chatglm", strings.Replace(one, "intermediate_size", "ffn_hidden_size", 1), ends + llama, ""},
		{"qwen2_moe", strings.Replace(one, "intermediate_size", "of_no_use", 1) + `, "num_experts": 2, "moe_intermediate_size": 4`, ends + llama + 3*8 - 3*128 + 8*2 + 2*3*32, ""},
		{"deepseek_v32", latent + one + `, "index_n_heads": 1`, ends + 16 + 8*12 + 8*4 + 3 + 3*16 + 64 + 3*128 + 128 + 8*128 + 2*128 + 8, ""},
		{"nemotron_h", mamba + `"layers_block_type": ["moe"], "n_routed_experts": 2, "moe_intermediate_size": 3`, ends + 8 + 8*2 + 2*2*24, ""},
		{"qwen3_next", delta + size + `2, "num_experts": 2, "moe_intermediate_size": 4, "mlp_only_layers": [0]`, ends + 2*(16+139) + 3*128 + 8*2 + 2*3*32, ""},
		{"llava", `"text_config": {"model_type": "qwen2", ` + one + `}`, ends + llama + 3*8, "holds several models"},
		{"deit", vit + `, "architectures": ["DeiTForImageClassificationWithTeacher"]`, 8*12 + 8 + 2*8 + 8*6 + plain + 16 + 2*(8*2+2), ""},
		{"bert", one + `, "architectures": ["BertForPreTraining"]`, bert + pooler + 18 + 72 + 16 + 10, ""},
		{"bert", one + `, "architectures": ["BertForQuestionAnswering"]`, bert + 18, ""},
		{"roberta", one + `, "architectures": ["RobertaForSequenceClassification"]`, bert + 72 + 18, ""},
		{"distilbert", one + `, "architectures": ["DistilBertForSequenceClassification"]`, bert - 16 + pooler + 18, ""},
		{"distilbert", one, bert - 16, ""},
		{"mixtral", one + `, "num_local_experts": 1`, ends + llama + 8, ""},
		{"qwen3", one + `, "head_dim": 1`, ends + 2*8 + 4*32 + 2 + 3*128, ""},
		{
			"qwen2_moe", one + `, "num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 1, "shared_expert_intermediate_size": 1`,
			ends + llama + 3*8 - 3*128 + 8*2 + 2*3*8 + 3*8 + 8, "",
		},
		{"deepseek_v3", latent + one + `, "q_lora_rank": 1`, ends + 16 + 8 + 1 + 12 + 8*4 + 3 + 3*16 + 64 + 3*128, ""},
		{"nemotron_h", mamba + `"layers_block_type": ["mamba", "mlp", "attention"], "num_nextn_predict_layers": 0`, ends + 3*8 + 8*(2*6+2*2+3) + (6+2*2)*3 + 3*3 + 6 + 6*8 + 2*128 + 4*64, ""},
		{
			"nemotron_h", mamba + `"layers_block_type": ["moe", "mlp"], "n_routed_experts": 2, "moe_intermediate_size": 1, "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 5, "moe_latent_size": 1`,
			ends + 2*8 + 2*128 + 8*2 + 2*2*1 + 2*8*5 + 2*8, "",
		},
		{"nemotron-nas", strings.Replace(one, `"hidden_size": 8`, `"hidden_size": 768`, 1) + `, "block_configs": [{"attention": {"no_op": true}, "ffn": {"ffn_mult": 2}}]`, 2*7680 + 768 + 768 + 3*768*1024, ""},
		{"nemotron-nas", one + `, "block_configs": [{"attention": {"no_op": true}, "ffn": {"ffn_mult": 1024}}]`, ends + 8 + 3*8*5632, ""},
		{"qwen3_next", delta + size + `4`, ends + 4*(16+3*128) + 3*(8*(2*2+3)+8*3+2*8+(2*2+3)*2+2+3+3*8) + 8*16 + 2*64 + 64 + 2*2, ""},
		{"llava", one, ends + llama, "holds several models"},
		{
			"mimo_v2_flash", one + `, "num_key_value_heads": 1, "head_dim": 2, "v_head_dim": 1, "swa_num_attention_heads": 4, "swa_num_key_value_heads": 1, "swa_head_dim": 2, "swa_v_head_dim": 1, "hybrid_layer_pattern": [0], "moe_layer_freq": [0]`,
			ends + 16 + 64 + 8*2 + 8 + 4*8 + 3*128, "",
		},
	} {
		f, err := readText(`{"model_type": "` + c.kind + `", ` + c.rest + `}`)
		if err != nil {
			t.Errorf("%s, %s: %v", c.kind, c.rest, err)
			continue
		}
		told := strings.Join(f.Spec(1).Warnings, "; ")
		if f.Model.Params() != c.params || (c.warning == "") != (told == "") || !strings.Contains(told, c.warning) {
			t.Errorf("%s, %s: %d parameters, want %d; warnings %q, want %q", c.kind, c.rest, f.Model.Params(), c.params, told, c.warning)
		}
	}
	for rest, want := range map[string]string{
		`"model_type": "stablelm", "qk_layernorm": true, ` + one:                                                     "qk_layernorm is not described for stablelm; ",
		`"model_type": "cohere", "use_qk_norm": true, ` + one:                                                        "use_qk_norm is not described for cohere; ",
		`"model_type": "albert", "embedding_size": 4, "inner_group_num": 2, ` + one:                                  "inner_group_num above 1 is not described; ",
		`"model_type": "deberta-v2", "relative_attention": true, ` + one:                                             "relative positions with weights of each block are not described; ",
		`"model_type": "vit", "image_size": 2, "patch_size": 4, ` + one:                                              "image_size is smaller than patch_size",
		`"model_type": "qwen2_moe", "num_experts": 2, "mlp_only_layers": "first", ` + one:                            `mlp_only_layers is "first", want a list of whole numbers`,
		`"model_type": "clip", "text_config": {}`:                                                                    `: vision_config is missing`,
		`"model_type": "clip", "vision_config": {}`:                                                                  `: text_config is missing`,
		`"model_type": "nemotron_h", ` + mamba + `"layers_block_type": "M"`:                                          `layers_block_type is "M", want a list of words`,
		`"model_type": "nemotron_h", ` + mamba + `"layers_block_type": ["moe"]`:                                      `block 0 has experts, and n_routed_experts is missing`,
		`"model_type": "nemotron_h", ` + mamba + `"hybrid_override_pattern": "` + strings.Repeat("-", 4097) + `"`:    `the pattern has 4097 blocks, num_hidden_layers is 4097, at most 4096 are allowed`,
		`"model_type": "nemotron-nas", "block_configs": [{"ffn": {"ffn_mult": 1024.5}}], ` + one:                     `block 0: ffn_mult is 1024.5, want 0 to 1024`,
		`"architectures": ["FooModel"], "hidden_size": 8`:                                                            `not the configuration of a transformer`,
		`"model_type": "foo", "architectures": ["FooModel"]`:                                                         `a type that this package does not know`,
		`"model_type": "a", "text_config": {"model_type": "b", "text_config": {"model_type": "llama", ` + one + `}}`: `a type that this package does not know`,
		`"model_type": "llama", ` + strings.Replace(one, "intermediate_size", "of_no_use", 1):                        "intermediate_size is missing",
		`"type_vocab_size": 2, "hidden_size": 8, "intermediate_size": 16`:                                            "not the configuration of a transformer",
		`"type_vocab_size": 2, "hidden_size": 8, "num_attention_heads": 4`:                                           "not the configuration of a transformer",
		`"type_vocab_size": 2, "intermediate_size": 16, "num_attention_heads": 4`:                                    "not the configuration of a transformer",
		`"hidden_size": 8, "intermediate_size": 16, "num_attention_heads": 4`:                                        "not the configuration of a transformer",
		`"model_type": "llama", ` + size + `4097`:                                                                    "num_hidden_layers is 4097, want at most 4096",
		`"model_type": "llama", ` + strings.Replace(one, `_heads": 4`, `_heads": 2147483649`, 1):                     "num_attention_heads is 2147483649, want a whole number from 1 to 2147483648",
		`"model_type": "gpt2", "n_embed": 0, "num_heads": 1, "num_layers": 1, "vocab_size": 1, "n_ctx": 1`:           "n_embd is 0, want a whole number from 1 to 2147483648",
	} {
		if _, err := readText(`{` + rest + `}`); err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: got %v, want %q alone", rest, err, want)
		}
	}
	if f, err := readText(`{"architectures": ["BertModel"], ` + one + `}`); err != nil || f.Model.Params() != bert+pooler || !strings.Contains(f.Warnings[0].Text, "no model_type: described as bert") {
		t.Errorf("a configuration without a type: %+v, %v", f, err)
	}
	if _, err := readText(`{"model_type": "nemotron_h", ` + mamba + `"hybrid_override_pattern": "` + strings.Repeat("-", 4096) + `"}`); err != nil {
		t.Errorf("the longest pattern: %v", err)
	}
	const longest = int64(1) << 31
	for n, refused := range map[int64]bool{0: false, 1: false, longest: false, longest + 1: true} { // the longest have too many scores
		f, err := readAs(HuggingFace)(strings.NewReader(`{"model_type": "t5", `+t5+`}`), &Options{SequenceLength: int(n)})
		if told := err != nil && strings.Contains(err.Error(), "Options.SequenceLength is not from 1 to 2147483648"); told != refused && n == int64(int(n)) {
			t.Errorf("%d tokens: %v", n, err)
		} else if err == nil && f.Model.Params() != words+(16+256+256+32*4)+8+(16+256+8+256+256+32*4)+8 {
			t.Errorf("%d tokens: %d parameters", n, f.Model.Params())
		}
	}
	if _, err := readText(`{"model_type": "llama", ` + strings.Replace(size, `_heads": 4`, `_heads": 1`, 1) + `4096}`); err != nil {
		t.Errorf("the most blocks: %v", err)
	}
}

// TestFusedAttention: scores are stored where the file or the type says so, with the
// dropout on them.
func TestFusedAttention(t *testing.T) {
	const size = `"hidden_size": 8, "num_attention_heads": 4, "intermediate_size": 16, "vocab_size": 10, "max_position_embeddings": 4, "num_hidden_layers": 1`
	for _, c := range []struct {
		fields string
		fused  bool
	}{
		{`"model_type": "bert", ` + size, true},
		{`"model_type": "bert", "_attn_implementation": "flash_attention_2", ` + size, true},
		{`"model_type": "bert", "attn_implementation": "eager", ` + size, false},
		{`"model_type": "bert", "output_attentions": true, ` + size, false},
		{`"model_type": "deberta-v2", ` + size, false},
		{`"model_type": "t5", "d_model": 8, "num_heads": 4, "d_kv": 2, "d_ff": 16, "num_layers": 1, "vocab_size": 10`, false},
	} {
		f, err := readAs(HuggingFace)(strings.NewReader("{"+c.fields+"}"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range f.Model.Layers {
			if l.Kind != profile.Attention {
				continue
			}
			if dropped := f.Model.Layers[i+1].Kind == profile.Dropout; l.InPlace != c.fused || dropped == c.fused || l.Activations == 0 {
				t.Errorf("%s: fused %v, dropout on the scores %v", c.fields, l.InPlace, dropped)
			}
		}
	}
}
