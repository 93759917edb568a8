package modelfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// newer are models of 2024 and later, and those that tell relatives apart, with what
// their cards and checkpoints count. The figures are width, inner width, blocks, heads,
// heads of keys, and words; rest is what else of the configuration matters.
var newer = []struct {
	name, kind string
	figures    [6]int64
	rest       string
	params     int64
}{
	{"Gemma 3 1B", "gemma3_text", [6]int64{1152, 6912, 26, 4, 1, 262144}, `"head_dim": 256`, 999_885_952},
	{"Qwen3 4B", "qwen3", [6]int64{2560, 9728, 36, 32, 8, 151936}, `"head_dim": 128, "tie_word_embeddings": true`, 4_022_468_096},
	{"Phi-4", "phi3", [6]int64{5120, 17920, 40, 40, 10, 100352}, `"tie_word_embeddings": false`, 14_659_507_200},
	{"Phi-4-mini", "phi3", [6]int64{3072, 8192, 32, 24, 8, 200064}, `"tie_word_embeddings": true`, 3_836_021_760},
	{"Mistral Small 3", "mistral", [6]int64{5120, 32768, 40, 32, 8, 131072}, `"head_dim": 128`, 23_572_403_200},
	{"Ministral 8B", "mistral", [6]int64{4096, 12288, 36, 32, 8, 131072}, `"head_dim": 128`, 8_019_808_256},
	{"OLMo 2 7B", "olmo2", [6]int64{4096, 11008, 32, 32, 32, 100352}, ``, 7_298_617_344},
	{"OLMo 2 13B", "olmo2", [6]int64{5120, 13824, 40, 40, 40, 100352}, ``, 13_716_198_400},
	{"OLMo 3 7B", "olmo3", [6]int64{4096, 11008, 32, 32, 32, 100278}, ``, 7_298_011_136},
	{"OLMoE", "olmoe", [6]int64{2048, 1024, 16, 16, 16, 50304}, `"num_experts": 64, "num_experts_per_tok": 8`, 6_919_161_856},
	{"SmolLM2 135M", "llama", [6]int64{576, 1536, 30, 9, 3, 49152}, `"tie_word_embeddings": true`, 134_515_008},
	{"SmolLM3", "smollm3", [6]int64{2048, 11008, 36, 16, 4, 128256}, ``, 3_075_098_624},
	{"Llama 3.2 1B", "llama", [6]int64{2048, 8192, 16, 32, 8, 128256}, `"head_dim": 64, "tie_word_embeddings": true`, 1_235_814_400},
	{"Granite 3.1 8B", "granite", [6]int64{4096, 12800, 40, 32, 8, 49155}, `"tie_word_embeddings": true`, 8_170_848_256},
	{"Gemma 2 9B", "gemma2", [6]int64{3584, 14336, 42, 16, 8, 256000}, `"head_dim": 256`, 9_241_705_984},
	{"Qwen2 0.5B", "qwen2", [6]int64{896, 4864, 24, 14, 2, 151936}, `"tie_word_embeddings": true`, 494_032_768},
	{"Qwen1.5 MoE", "qwen2_moe", [6]int64{2048, 5632, 24, 16, 16, 151936}, `"num_experts": 60, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632`, 14_315_784_192},
	{"GLM 9B", "glm", [6]int64{4096, 13696, 40, 32, 2, 151552}, `"attention_bias": true, "head_dim": 128`, 9_399_951_360},
	{"GLM-4 9B", "glm4", [6]int64{4096, 13696, 40, 32, 2, 151552}, `"attention_bias": true, "head_dim": 128`, 9_400_279_040},
	{
		"GLM-4.5 Air", "glm4_moe",
		[6]int64{4096, 10944, 46, 96, 8, 151552},
		`"attention_bias": true, "head_dim": 128, "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 1, "first_k_dense_replace": 1`, 106_852_245_504,
	},
	{"ERNIE 4.5 0.3B", "ernie4_5", [6]int64{1024, 3072, 18, 16, 2, 103424}, `"head_dim": 128`, 360_748_032},
	{"Command R", "cohere", [6]int64{8192, 22528, 40, 64, 64, 256000}, ``, 34_980_831_232},
	{"Command R7B", "cohere2", [6]int64{4096, 14336, 32, 32, 8, 256000}, ``, 8_028_033_024},
	{"StarCoder2 3B", "starcoder2", [6]int64{3072, 12288, 30, 24, 2, 49152}, ``, 3_030_371_328},
	{"InternLM2 7B", "internlm2", [6]int64{4096, 14336, 32, 32, 8, 92544}, ``, 7_737_708_544},
}

func TestNewer(t *testing.T) {
	for _, m := range newer {
		text := fmt.Sprintf(`{"model_type": %q, "hidden_size": %d, "intermediate_size": %d, "num_hidden_layers": %d, "num_attention_heads": %d, "num_key_value_heads": %d,
			"vocab_size": %d, "max_position_embeddings": 4096, %s}`, m.kind, m.figures[0], m.figures[1], m.figures[2], m.figures[3], m.figures[4], m.figures[5], m.rest)
		text = strings.ReplaceAll(text, ", }", "}")
		f, err := Read(strings.NewReader(text), nil)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if got := f.Model.Params(); got != m.params || f.Model.Unknown() != 0 {
			t.Errorf("%s: %d parameters, %v unknown; want %d", m.name, got, f.Model.Unknown(), m.params)
		}
	}
}

// TestStrangers: what a setting, or the class, makes another network is refused and
// named, however well its type is known.
func TestStrangers(t *testing.T) {
	bert := map[string]any{
		"model_type": "bert", "hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 100, "max_position_embeddings": 32,
	}
	llama := map[string]any{
		"model_type": "llama", "hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 100, "max_position_embeddings": 32,
	}
	mpt := map[string]any{"model_type": "mpt", "d_model": 64, "n_heads": 2, "n_layers": 2, "vocab_size": 100}
	for _, tt := range []struct {
		base  map[string]any
		key   string
		value any
		want  string // "" is that it is read
	}{
		{bert, "position_embedding_type", "alibi", `position_embedding_type is "alibi"`},
		{bert, "position_embedding_type", "absolute", ""},
		{bert, "feed_forward_type", "geglu", `feed_forward_type is "geglu"`},
		{bert, "add_cross_attention", true, "add_cross_attention"},
		{bert, "add_cross_attention", false, ""},
		{bert, "architectures", []string{"JinaBertForMaskedLM"}, "architectures is JinaBertForMaskedLM"},
		{bert, "architectures", []string{"BertForMaskedLM"}, ""},
		{llama, "architectures", []string{"LlamaForCausalLMEagle3"}, "architectures is LlamaForCausalLMEagle3"},
		{llama, "architectures", []string{"MistralForCausalLM"}, ""},
		{llama, "mamba_d_state", 16, "mamba_d_state makes it a network"},
		{mpt, "attn_config", map[string]any{"kv_n_heads": 1}, "several queries share a key"},
		{mpt, "attn_config", map[string]any{"alibi": true}, ""},
	} {
		config := map[string]any{tt.key: tt.value}
		maps.Copy(config, tt.base)
		text, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Read(strings.NewReader(string(text)), nil)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v: got %v, want %q", tt.key, tt.value, err, tt.want)
		}
	}
}

// TestFilled: what the library fills in for the text model of several is filled in
// here, and the whole stays unknown.
func TestFilled(t *testing.T) {
	for text, want := range map[string]int64{
		`{"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 62,
			"num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128}, "vision_config": {}}`: 27_009_346_304,
		`{"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}, "vision_config": {}}`: 6_738_939_904,
		`{"model_type": "llava", "text_config": {"vocab_size": 32064}, "vision_config": {}}`:                        6_738_939_904,
	} {
		f, err := Read(strings.NewReader(text), nil)
		if err != nil || f.Model.Params() != want || f.Model.Unknown()&profile.ParamCounts == 0 {
			t.Errorf("%v, %+v; want %d and more that is unknown", err, f, want)
		}
	}
	bare := `{"model_type": "gemma3_text", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2}`
	if _, err := Read(strings.NewReader(bare), nil); err == nil || !strings.Contains(err.Error(), "vocab_size is missing") {
		t.Errorf("alone: %v", err)
	}
}

// TestLeftOut: what a configuration leaves out is what the library fills in, and a mixture
// of experts stands in each so many blocks.
func TestLeftOut(t *testing.T) {
	const small = `"hidden_size": 8, "num_attention_heads": 4, "intermediate_size": 16, "vocab_size": 10`
	const sparse = `{"model_type": "qwen2_moe", ` + small + `, "num_experts": 2, "moe_intermediate_size": 4, "shared_expert_intermediate_size": 4, "decoder_sparse_step": 3,
		"tie_word_embeddings": true, "num_hidden_layers": `
	const attention, dense, mixture = 4*64 + 3*8 + 2*8, 3 * 8 * 16, 8*2 + 2*3*8*4 + 3*8*4 + 8
	for text, want := range map[string]int64{
		`{"model_type": "clip", "text_config": {}, "vision_config": {}}`:                              151_277_313,                                               // openai/clip-vit-base-patch32
		`{"model_type": "starcoder2", "num_hidden_layers": 1, ` + small + `}`:                         80 + 3*16 + 2*72 + 2*(8*4+4) + (8+1)*16 + (16+1)*8,        // two heads of keys
		`{"model_type": "gpt_bigcode", "n_layer": 1, "n_inner": 16, "n_positions": 4, ` + small + `}`: 80 + 32 + 3*16 + (8+1)*(8+2*2) + 72 + (8+1)*16 + (16+1)*8, // one
		sparse + `2}`: 88 + 2*(attention+dense),
		sparse + `3}`: 88 + 3*attention + 2*dense + mixture,
	} {
		if f, err := readText(text); err != nil || f.Model.Params() != want {
			t.Errorf("%s: %v, %+v; want %d", text, err, f, want)
		}
	}
	check(t, readText, []sample{{
		"faults of both halves", `{"model_type": "clip", "text_config": {"vocab_size": -1}, "vision_config": {"patch_size": 0}, "projection_dim": 1.5}`,
		`modelfile: huggingface: model_type "clip": projection_dim is 1.5, want a whole number from 1 to 2147483648
vocab_size is -1, want a whole number from 1 to 2147483648
patch_size is 0, want a whole number from 1 to 2147483648`,
	}})
}
