package modelfile

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// configs are the published values of real models, reduced to the fields that
// matter, with the parameter count that the transformers library reports.
var configs = []struct {
	name, json string
	params     int64
}{
	{
		"bert-base-uncased", `{"model_type":"bert","hidden_size":768,"intermediate_size":3072,"max_position_embeddings":512,
		"num_attention_heads":12,"num_hidden_layers":12,"type_vocab_size":2,"vocab_size":30522}`, 109_482_240,
	},
	{
		"roberta-base", `{"model_type":"roberta","hidden_size":768,"intermediate_size":3072,"max_position_embeddings":514,
		"num_attention_heads":12,"num_hidden_layers":12,"type_vocab_size":1,"vocab_size":50265}`, 124_645_632,
	},
	{
		"distilbert-base-uncased", `{"model_type":"distilbert","dim":768,"hidden_dim":3072,"max_position_embeddings":512,
		"n_heads":12,"n_layers":6,"vocab_size":30522,"dropout":0.1,"attention_dropout":0.1}`, 66_362_880,
	},
	{
		"gpt2", `{"model_type":"gpt2","n_embd":768,"n_head":12,"n_layer":12,"n_positions":1024,"n_ctx":1024,"vocab_size":50257}`,
		124_439_808,
	},
	{
		"gpt2-large", `{"model_type":"gpt2","n_embd":1280,"n_head":20,"n_layer":36,"n_positions":1024,"vocab_size":50257}`,
		774_030_080,
	},
	{
		"Llama-2-7b", `{"model_type":"llama","hidden_size":4096,"intermediate_size":11008,"max_position_embeddings":4096,
		"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":32,"tie_word_embeddings":false,
		"rms_norm_eps":1e-05,"vocab_size":32000}`, 6_738_415_616,
	},
	{
		"Meta-Llama-3-8B", `{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"max_position_embeddings":8192,
		"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"tie_word_embeddings":false,
		"attention_bias":false,"vocab_size":128256}`, 8_030_261_248,
	},
	{
		"Mistral-7B-v0.1", `{"model_type":"mistral","hidden_size":4096,"intermediate_size":14336,"max_position_embeddings":32768,
		"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"sliding_window":4096,
		"tie_word_embeddings":false,"vocab_size":32000}`, 7_241_732_096,
	},
	{
		"Mixtral-8x7B", `{"model_type":"mixtral","hidden_size":4096,"intermediate_size":14336,"max_position_embeddings":32768,
		"num_attention_heads":32,"num_experts_per_tok":2,"num_hidden_layers":32,"num_key_value_heads":8,
		"num_local_experts":8,"vocab_size":32000}`, 46_702_792_704,
	},
	{
		"Qwen2-0.5B", `{"model_type":"qwen2","hidden_size":896,"intermediate_size":4864,"max_position_embeddings":131072,
		"num_attention_heads":14,"num_hidden_layers":24,"num_key_value_heads":2,"tie_word_embeddings":true,
		"vocab_size":151936}`, 494_032_768,
	},
	{
		"Qwen3-0.6B", `{"model_type":"qwen3","hidden_size":1024,"intermediate_size":3072,"max_position_embeddings":40960,
		"head_dim":128,"num_attention_heads":16,"num_hidden_layers":28,"num_key_value_heads":8,
		"tie_word_embeddings":true,"vocab_size":151936}`, 596_049_920,
	},
	{
		"gemma-2b", `{"model_type":"gemma","hidden_size":2048,"intermediate_size":16384,"max_position_embeddings":8192,
		"head_dim":256,"num_attention_heads":8,"num_hidden_layers":18,"num_key_value_heads":1,"vocab_size":256000}`,
		2_506_172_416,
	},
	{
		"phi-2", `{"model_type":"phi","hidden_size":2560,"intermediate_size":10240,"max_position_embeddings":2048,
		"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":null,"tie_word_embeddings":false,
		"vocab_size":51200,"qk_layernorm":false,"resid_pdrop":0.1}`, 2_779_683_840,
	},
	{
		"Phi-3-mini-4k", `{"model_type":"phi3","hidden_size":3072,"intermediate_size":8192,"max_position_embeddings":4096,
		"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":32,"tie_word_embeddings":false,
		"vocab_size":32064}`, 3_821_079_552,
	},
	{
		"pythia-160m", `{"model_type":"gpt_neox","hidden_size":768,"intermediate_size":3072,"max_position_embeddings":2048,
		"num_attention_heads":12,"num_hidden_layers":12,"tie_word_embeddings":false,"vocab_size":50304}`, 162_322_944,
	},
	{
		"opt-125m", `{"model_type":"opt","hidden_size":768,"ffn_dim":3072,"max_position_embeddings":2048,
		"num_attention_heads":12,"num_hidden_layers":12,"vocab_size":50272,"word_embed_proj_dim":768,
		"do_layer_norm_before":true}`, 125_239_296,
	},
	{
		"opt-350m", `{"model_type":"opt","hidden_size":1024,"ffn_dim":4096,"max_position_embeddings":2048,
		"num_attention_heads":16,"num_hidden_layers":24,"vocab_size":50272,"word_embed_proj_dim":512,
		"do_layer_norm_before":false}`, 331_196_416,
	},
	{
		"t5-small", `{"model_type":"t5","d_model":512,"d_ff":2048,"d_kv":64,"num_heads":8,"num_layers":6,"n_positions":512,
		"relative_attention_num_buckets":32,"vocab_size":32128}`, 60_506_624,
	},
	{
		"flan-t5-small", `{"model_type":"t5","d_model":512,"d_ff":1024,"d_kv":64,"num_heads":6,"num_layers":8,
		"num_decoder_layers":8,"feed_forward_proj":"gated-gelu","relative_attention_num_buckets":32,
		"tie_word_embeddings":false,"vocab_size":32128}`, 76_961_152,
	},
	{
		"bart-base", `{"model_type":"bart","d_model":768,"encoder_layers":6,"decoder_layers":6,"encoder_ffn_dim":3072,
		"decoder_ffn_dim":3072,"encoder_attention_heads":12,"decoder_attention_heads":12,"max_position_embeddings":1024,
		"vocab_size":50265}`, 139_420_416,
	},
	{
		// Fixed positions: the library counts 524,288 sinusoids that are not trained.
		"opus-mt-en-de", `{"model_type":"marian","d_model":512,"encoder_layers":6,"decoder_layers":6,"encoder_ffn_dim":2048,
		"decoder_ffn_dim":2048,"encoder_attention_heads":8,"decoder_attention_heads":8,"max_position_embeddings":512,
		"vocab_size":58101}`, 74_410_496 - 524_288,
	},
	{
		"vit-base-patch16-224", `{"model_type":"vit","architectures":["ViTForImageClassification"],"hidden_size":768,
		"image_size":224,"intermediate_size":3072,"num_attention_heads":12,"num_channels":3,"num_hidden_layers":12,
		"patch_size":16,"qkv_bias":true,"num_labels":1000}`, 86_567_656,
	},
	{
		"vit-base-patch16-224-in21k", `{"model_type":"vit","architectures":["ViTModel"],"hidden_size":768,"image_size":224,
		"intermediate_size":3072,"num_attention_heads":12,"num_channels":3,"num_hidden_layers":12,"patch_size":16}`,
		86_389_248,
	},
	{
		"Qwen3-30B-A3B", `{"model_type":"qwen3_moe","hidden_size":2048,"intermediate_size":6144,"max_position_embeddings":40960,
		"moe_intermediate_size":768,"head_dim":128,"num_attention_heads":32,"num_hidden_layers":48,"num_key_value_heads":4,
		"num_experts":128,"num_experts_per_tok":8,"decoder_sparse_step":1,"mlp_only_layers":[],"tie_word_embeddings":false,
		"vocab_size":151936}`, 30_532_122_624,
	},
	{
		"DeepSeek-V3", `{"model_type":"deepseek_v3","hidden_size":7168,"intermediate_size":18432,"first_k_dense_replace":3,"kv_lora_rank":512,
		"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"moe_intermediate_size":2048,"n_routed_experts":256,
		"n_shared_experts":1,"num_attention_heads":128,"num_experts_per_tok":8,"num_hidden_layers":61,"max_position_embeddings":163840,
		"tie_word_embeddings":false,"vocab_size":129280}`, 671_026_404_352,
	},
	{
		"DeepSeek-V2-Lite", `{"model_type":"deepseek_v2","hidden_size":2048,"intermediate_size":10944,"first_k_dense_replace":1,"kv_lora_rank":512,
		"q_lora_rank":null,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"moe_intermediate_size":1408,"n_routed_experts":64,
		"n_shared_experts":2,"num_attention_heads":16,"num_experts_per_tok":6,"num_hidden_layers":27,"max_position_embeddings":163840,
		"tie_word_embeddings":false,"vocab_size":102400}`, 15_706_484_224,
	},
	{
		"gpt-oss-20b", `{"model_type":"gpt_oss","hidden_size":2880,"intermediate_size":2880,"head_dim":64,"num_attention_heads":64,
		"num_key_value_heads":8,"num_hidden_layers":24,"num_local_experts":32,"num_experts_per_tok":4,"attention_bias":true,
		"tie_word_embeddings":false,"max_position_embeddings":131072,"vocab_size":201088}`, 20_914_757_184,
	},
	{
		"gpt-j-6b", `{"model_type":"gptj","n_embd":4096,"n_head":16,"n_inner":null,"n_layer":28,"n_positions":2048,"tie_word_embeddings":false,
		"vocab_size":50400}`, 6_050_882_784,
	},
	{
		"stablelm-2-1.6b", `{"model_type":"stablelm","hidden_size":2048,"intermediate_size":5632,"num_attention_heads":32,"num_key_value_heads":32,
		"num_hidden_layers":24,"use_qkv_bias":true,"tie_word_embeddings":false,"max_position_embeddings":4096,"vocab_size":100352}`, 1_644_515_328,
	},
	{
		"falcon-40b", `{"model_type":"falcon","bias":false,"hidden_size":8192,"new_decoder_architecture":true,"num_attention_heads":128,
		"num_hidden_layers":60,"num_kv_heads":8,"parallel_attn":true,"vocab_size":65024}`, 41_303_293_952,
	},
	{"mpt-7b", `{"model_type":"mpt","d_model":4096,"n_heads":32,"n_layers":32,"expansion_ratio":4,"no_bias":true,"max_seq_len":2048,
		"attn_config":{"alibi":true},"vocab_size":50432}`, 6_649_286_656},
	{"bloom-560m", `{"model_type":"bloom","n_embed":1024,"num_attention_heads":16,"n_layer":24,"vocab_size":250880}`, 559_214_592},
	{
		"chatglm3-6b", `{"model_type":"chatglm","add_qkv_bias":true,"add_bias_linear":false,"ffn_hidden_size":13696,"hidden_size":4096,
		"kv_channels":128,"multi_query_attention":true,"multi_query_group_num":2,"num_attention_heads":32,"num_layers":28,
		"padded_vocab_size":65024,"seq_length":8192,"tie_word_embeddings":false}`, 6_243_584_000,
	},
	{
		"albert-base-v1", `{"model_type":"albert","embedding_size":128,"hidden_size":768,"intermediate_size":3072,"max_position_embeddings":512,
		"num_attention_heads":12,"num_hidden_groups":1,"num_hidden_layers":12,"type_vocab_size":2,"vocab_size":30000}`, 11_683_584,
	},
	{
		"deberta-v3-base", `{"model_type":"deberta-v2","hidden_size":768,"intermediate_size":3072,"max_position_embeddings":512,"num_attention_heads":12,
		"num_hidden_layers":12,"relative_attention":true,"position_buckets":256,"norm_rel_ebd":"layer_norm","share_att_key":true,
		"position_biased_input":false,"type_vocab_size":0,"vocab_size":128100}`, 183_831_552,
	},
	{
		"whisper-small", `{"model_type":"whisper","d_model":768,"encoder_attention_heads":12,"decoder_attention_heads":12,"encoder_ffn_dim":3072,
		"decoder_ffn_dim":3072,"encoder_layers":12,"decoder_layers":12,"max_source_positions":1500,"max_target_positions":448,
		"num_mel_bins":80,"vocab_size":51865}`, 241_734_912,
	},
	{
		"clip-vit-large-patch14", `{"model_type":"clip","projection_dim":768,"text_config":{"hidden_size":768,"intermediate_size":3072,
		"num_attention_heads":12,"num_hidden_layers":12},"vision_config":{"hidden_size":1024,"intermediate_size":4096,"num_attention_heads":16,
		"num_hidden_layers":24,"patch_size":14}}`, 427_616_513,
	},
	{
		"Llama-4-Scout's text", `{"model_type":"llama4_text","hidden_size":5120,"intermediate_size":8192,"intermediate_size_mlp":16384,"head_dim":128,
		"interleave_moe_layer_step":1,"num_attention_heads":40,"num_key_value_heads":8,"num_hidden_layers":48,"num_local_experts":16,
		"num_experts_per_tok":1,"max_position_embeddings":10485760,"vocab_size":202048}`, 107_769_861_120,
	},
	{
		"Qwen1.5-MoE-A2.7B", `{"model_type":"qwen2_moe","hidden_size":2048,"intermediate_size":5632,"moe_intermediate_size":1408,
		"shared_expert_intermediate_size":5632,"num_attention_heads":16,"num_key_value_heads":16,"num_hidden_layers":24,"num_experts":60,
		"num_experts_per_tok":4,"tie_word_embeddings":false,"vocab_size":151936}`, 14_315_784_192,
	},
}

func TestHuggingFaceParams(t *testing.T) {
	for _, c := range configs {
		t.Run(c.name, func(t *testing.T) {
			f, err := Read(strings.NewReader(c.json), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Model.Params(); got != c.params {
				t.Errorf("params: got %d, want %d, difference %d", got, c.params, got-c.params)
			}
			if f.Format != HuggingFace || f.Model.Guess() != profile.Transformer {
				t.Errorf("got format %v, family %v", f.Format, f.Model.Guess())
			}
			if _, ok := f.Model.MACs(); !ok {
				t.Error("not every layer with parameters states its multiply-adds")
			}
			if err := f.Spec(8).Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLlamaCounts checks activations and multiply-adds of one block against the
// sums written out by hand.
func TestLlamaCounts(t *testing.T) {
	const config = `{"model_type":"llama","hidden_size":8,"intermediate_size":20,"max_position_embeddings":64,
	"num_attention_heads":4,"num_hidden_layers":1,"num_key_value_heads":2,"vocab_size":100}`
	f, err := readAs(HuggingFace)(strings.NewReader(config), &Options{SequenceLength: 10, Name: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	const s, width, kv, inner, vocab, heads = 10, 8, 4, 20, 100, 4
	linears := int64(width*width + 2*width*kv + width*width + 3*width*inner + width*vocab)
	wantMACs := s*linears + 2*s*s*width + 3*s*width
	wantActivations := int64(s*width + // embedding
		2*s*width + s*width + 2*s*kv + heads*s*s + s*width + // norms, q, k, v, scores, output
		2*s*inner + s*inner + s*width + // gate, up, activation, down
		s*width + s*vocab) // last norm, head
	macs, ok := f.Model.MACs()
	if got, known := f.Model.Activations(); got != wantActivations || !known || macs != wantMACs || !ok {
		t.Errorf("got %d activations, %d multiply-adds (%t), want %d, %d", got, macs, ok, wantActivations, wantMACs)
	}
	if n, _ := f.SampleElements.Get(); n != 10 || f.Model.Name != "tiny" {
		t.Errorf("got %d sample elements, name %q", n, f.Model.Name)
	}
}

func TestHuggingFaceHeads(t *testing.T) {
	for _, c := range []struct {
		name, config string
		head         Head
		params       int64
	}{
		{"bert, no head", configs[0].json, NoHead, 109_482_240 - 768*768 - 768},
		{"bert, masked language model", configs[0].json, LanguageHead, 109_514_298},
		{"gpt2, tied head is free", configs[3].json, NoHead, 124_439_808},
		{"llama, no head", configs[5].json, NoHead, 6_738_415_616 - 4096*32000},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := readAs(HuggingFace)(strings.NewReader(c.config), &Options{Head: c.head})
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Model.Params(); got != c.params {
				t.Errorf("got %d, want %d", got, c.params)
			}
		})
	}
}

func TestHuggingFaceTiedHeadHasActivations(t *testing.T) {
	f, err := readAs(HuggingFace)(strings.NewReader(configs[3].json), nil)
	if err != nil {
		t.Fatal(err)
	}
	head := f.Model.Layers[len(f.Model.Layers)-1]
	if head.Name != "lm_head" || head.Params != 0 || head.Activations != 512*50257 {
		t.Errorf("got %+v, want a head without parameters and 512 x 50257 logits", head)
	}
}

func TestHuggingFaceUnknownTypes(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"type":   {strings.Replace(configs[5].json, `"llama"`, `"olmo9"`, 1), `model_type "olmo9": a type that this package does not know; known are`},
		"hybrid": {strings.Replace(configs[5].json, `"llama",`, `"llama","hybrid_override_pattern":"M-M*",`, 1), "hybrid_override_pattern makes it a network"},
		"latent": {strings.Replace(configs[5].json, `"llama",`, `"llama","kv_lora_rank":512,`, 1), "kv_lora_rank makes it a network"},
		"UNet":   {`{"_class_name":"UNet2DConditionModel","in_channels":4}`, "UNet2DConditionModel of diffusers is not described"},
		"hybrid with an infinity": {
			`{"model_type":"zamba","time_step_limit":[0.0, Infinity],"hidden_size":8}`, `model_type "zamba": a type that this package does not know`,
		},
	} {
		if _, err := readAs(HuggingFace)(strings.NewReader(c.config), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	old, err := readAs(HuggingFace)(strings.NewReader(strings.Replace(configs[0].json, `"model_type":"bert",`, "", 1)), nil)
	if err != nil || old.Model.Params() != configs[0].params || len(old.Warnings) != 1 || old.Model.Architecture != "bert" {
		t.Errorf("an old file without a type: %v, %v", old, err)
	}
}

// TestHuggingFaceArchitectures: what architectures names decides what is on top.
func TestHuggingFaceArchitectures(t *testing.T) {
	with := func(config, class string) string {
		return strings.Replace(config, `{`, `{"architectures":["`+class+`"],"id2label":{"0":"a","1":"b","2":"c"},`, 1)
	}
	for _, c := range []struct {
		class, config string
		params        int64
	}{
		{"T5EncoderModel", configs[17].json, 35_330_816},
		{"BertForMaskedLM", configs[0].json, 109_514_298},
		{"BertForSequenceClassification", configs[0].json, 109_482_240 + 3*769},
		{"BertForTokenClassification", configs[0].json, 109_482_240 - 768*769 + 3*769},
		{"LlamaForSequenceClassification", configs[5].json, 6_738_415_616 - 4096*32000 + 3*4096},
		{"LlamaModel", configs[5].json, 6_738_415_616 - 4096*32000},
		{"GPT2ForSequenceClassification", configs[3].json, 124_439_808 + 3*768},
	} {
		f, err := readAs(HuggingFace)(strings.NewReader(with(c.config, c.class)), nil)
		if err != nil || f.Model.Params() != c.params {
			t.Errorf("%s: got %v, %v, want %d", c.class, f, err, c.params)
		}
	}
}

// TestHuggingFaceExperts counts the experts of OLMoE.
func TestHuggingFaceExperts(t *testing.T) {
	f, err := readAs(HuggingFace)(strings.NewReader(`{"model_type":"olmoe","hidden_size":2048,"intermediate_size":1024,"max_position_embeddings":4096,
		"num_attention_heads":16,"num_hidden_layers":16,"num_key_value_heads":16,"num_experts":64,"num_experts_per_tok":8,
		"tie_word_embeddings":false,"vocab_size":50304}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Model.Params(), int64(6_919_161_856); got != want {
		t.Errorf("%d parameters, want %d", got, want)
	}
}

// TestHuggingFaceTied reads a config of a later Gemma, which leaves out what is the
// library's default: the head is tied.
func TestHuggingFaceTied(t *testing.T) {
	f, err := readAs(HuggingFace)(strings.NewReader(`{"model_type":"gemma2","hidden_size":2304,"intermediate_size":9216,"max_position_embeddings":8192,
		"head_dim":256,"num_attention_heads":8,"num_hidden_layers":26,"num_key_value_heads":4,"rms_norm_eps":1e-06,"vocab_size":256000}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Model.Params(), int64(2_614_341_888); got != want {
		t.Errorf("%d parameters, want %d", got, want)
	}
}

func TestHuggingFaceTextModel(t *testing.T) {
	config := `{"model_type":"llava","vision_config":{"hidden_size":1024},"text_config":` + configs[5].json + `}`
	f, err := readAs(HuggingFace)(strings.NewReader(config), nil)
	if err != nil || f.Model.Params() != 6_738_415_616 || f.Model.Unknown()&profile.ParamCounts == 0 ||
		!strings.Contains(f.Warnings[0].Text, "its text model is described alone") {
		t.Errorf("got %v, %v", f, err)
	}
}

func TestHuggingFaceErrors(t *testing.T) {
	gpt2 := func(extra string) string {
		return `{"model_type":"gpt2","n_embd":768,"n_head":12,"n_layer":12,"vocab_size":50257` + extra + `}`
	}
	for _, c := range []struct{ name, config, want string }{
		{"empty object", `{}`, "no hidden_size"},
		{"a tokenizer's file", `{"version":"1.0","truncation":null}`, "no hidden_size"},
		{"not JSON", "{\n\"model_type\": \n!}", "line 3: invalid character '!'"},
		{"cut off", `{"model_type":"bert"`, "unexpected end"},
		{"an array", `[1]`, "cannot unmarshal array"},
		{"missing fields, all named", `{"model_type":"bert","hidden_size":8}`, "num_attention_heads is missing\nvocab_size is missing"},
		{"negative", strings.Replace(gpt2(""), "768", "-768", 1), "n_embd is -768"},
		{"zero heads", strings.Replace(gpt2(""), `"n_head":12`, `"n_head":0`, 1), "n_head is 0"},
		{"fraction", strings.Replace(gpt2(""), "768", "0.5", 1), "n_embd is 0.5"},
		{"text for a number", strings.Replace(gpt2(""), "768", `"768"`, 1), `n_embd is "768"`},
		{"not a flag", gpt2(`,"tie_word_embeddings":3`), "tie_word_embeddings is 3"},
		{"endless stack", strings.Replace(gpt2(""), `"n_layer":12`, `"n_layer":1000000000`, 1), "at most 4096"},
		{"overflow", strings.NewReplacer("768", "2147483648", `"n_head":12`, `"n_head":1`).Replace(gpt2("")), "want 0 to 1e15"},
		{"uneven heads", strings.Replace(gpt2(""), `"n_head":12`, `"n_head":7`, 1), "not a multiple"},
		{"deep nesting", `{"model_type":` + strings.Repeat("[", 1_000_000) + `}`, "exceeded max depth"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := readAs(HuggingFace)(strings.NewReader(c.config), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
			if f != nil || !strings.HasPrefix(err.Error(), "modelfile: huggingface: ") {
				t.Errorf("got file %v, error %v", f, err)
			}
		})
	}
	if _, err := readAs(HuggingFace)(strings.NewReader(gpt2("")), &Options{SequenceLength: -1}); err == nil {
		t.Error("a negative sequence length was taken")
	}
}

func FuzzReadHuggingFace(f *testing.F) {
	for _, c := range configs {
		f.Add([]byte(c.json), 0)
	}
	for _, c := range hybrids {
		f.Add([]byte(c.json), 16)
	}
	f.Fuzz(func(t *testing.T, data []byte, length int) {
		file, err := readAs(HuggingFace)(strings.NewReader(string(data)), &Options{SequenceLength: length})
		if err != nil {
			return
		}
		for i, l := range file.Model.Layers {
			if err := l.Validate(); err != nil {
				t.Errorf("layer %d: %v", i, err)
			}
		}
	})
}

func BenchmarkReadHuggingFace(b *testing.B) {
	for b.Loop() {
		if _, err := readAs(HuggingFace)(strings.NewReader(configs[6].json), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleRead() {
	config := `{"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257}`
	f, err := Read(strings.NewReader(config), &Options{Name: "GPT-2", SequenceLength: 256})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := f.Model
	activations, _ := m.Activations()
	fmt.Println(f.Format, m.Name, m.Guess(), m.Params(), "parameters", activations, "activations per sample")
	// Output: huggingface GPT-2 transformer 124439808 parameters 63197440 activations per sample
}

// ExampleReadHuggingFace turns a config.json into the specification of a task.
func ExampleRead_huggingFace() {
	config := `{
	  "model_type": "bert", "hidden_size": 768, "intermediate_size": 3072, "max_position_embeddings": 512,
	  "num_attention_heads": 12, "num_hidden_layers": 12, "type_vocab_size": 2, "vocab_size": 30522
	}`
	f, err := Read(strings.NewReader(config), &Options{SequenceLength: 128, Head: LanguageHead})
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := f.Spec(32)
	spec.Training.Precision = profile.Mixed
	fmt.Println(spec.Validate(), spec.Model.Params(), spec.Dataset.SampleElements, spec.Training.BatchSize)
	// Output: <nil> 109514298 128 32
}

// TestLayerKinds checks that a described network shows all of its kinds.
func TestLayerKinds(t *testing.T) {
	f, err := readAs(HuggingFace)(strings.NewReader(configs[3].json), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[profile.LayerKind]int{}
	for _, l := range f.Model.Layers {
		got[l.Kind]++
	}
	want := map[profile.LayerKind]int{
		profile.Embedding: 2, profile.Linear: 4*12 + 1, profile.Norm: 25, profile.Attention: 12,
		profile.Activation: 12, profile.Dropout: 2*12 + 1, // none on the scores
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestPositionsInUse: a sequence is as long as the positions allow; RoBERTa and its like
// begin behind the padding index.
func TestPositionsInUse(t *testing.T) {
	for kind, want := range map[string]int64{"bert": 100, "roberta": 98, "camembert": 98, "xlm-roberta": 98, "electra": 100} {
		f, err := readAs(HuggingFace)(strings.NewReader(`{"model_type":"`+kind+`","hidden_size":8,"intermediate_size":16,"max_position_embeddings":100,"num_attention_heads":2,"num_hidden_layers":1,"type_vocab_size":1,"vocab_size":50}`), nil)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if got := f.SampleElements.Or(0); got != want {
			t.Errorf("%s: sequences of %d, want %d", kind, got, want)
		}
	}
}
