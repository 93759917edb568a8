package modelfile

import (
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// hybrids are made-up networks, small enough to count by hand.
var hybrids = []struct {
	name, json string
	params     int64
	warning    string
}{
	{
		"Nemotron 3", `{"model_type":"nemotron_h","hidden_size":8,"hybrid_override_pattern":"ME*-","num_hidden_layers":4,"vocab_size":10,
		"num_attention_heads":2,"num_key_value_heads":1,"head_dim":4,"intermediate_size":12,"n_groups":1,"ssm_state_size":4,"mamba_num_heads":2,
		"mamba_head_dim":6,"conv_kernel":4,"n_routed_experts":3,"num_experts_per_tok":1,"moe_intermediate_size":5,"n_shared_experts":1,
		"moe_shared_expert_intermediate_size":7,"moe_latent_size":4,"num_nextn_predict_layers":1,"time_step_limit":[0.0, Infinity]}`,
		8*(2*12+2*4+2) + (12+8)*4 + 20 + 3*2 + 12 + 12*8 + // Mamba-2
			3*2*4*5 + 8*3 + 2*8*7 + 2*8*4 + // experts, router, the shared one, the way in and out
			8*8 + 2*8*4 + 8*8 + // attention
			2*8*12 + 5*8 + 2*10*8, "multi-token prediction",
	},
	{
		"Qwen3.5", `{"model_type":"qwen3_5","tie_word_embeddings":true,"vision_config":{"depth":2},"text_config":{"model_type":"qwen3_5_text",
		"hidden_size":8,"intermediate_size":20,"num_hidden_layers":2,"layer_types":["linear_attention","full_attention"],"vocab_size":10,
		"num_attention_heads":2,"num_key_value_heads":1,"head_dim":6,"linear_key_head_dim":3,"linear_num_key_heads":1,"linear_value_head_dim":5,
		"linear_num_value_heads":2,"linear_conv_kernel_dim":4,"mtp_num_hidden_layers":1}}`,
		8*(2*3+10) + 8*10 + 2*8*2 + (2*3+10)*4 + 2*2 + 5 + 10*8 + // the delta rule
			8*2*12 + 2*8*6 + 12*8 + 2*6 + // attention with a gate
			2*3*8*20 + 5*8 + 10*8, "holds several models",
	},
	{
		"Qwen3-Next", `{"model_type":"qwen3_next","hidden_size":8,"num_hidden_layers":4,"full_attention_interval":4,"vocab_size":10,
		"num_attention_heads":2,"num_key_value_heads":1,"head_dim":6,"linear_key_head_dim":3,"linear_num_key_heads":1,"linear_value_head_dim":5,
		"linear_num_value_heads":2,"linear_conv_kernel_dim":4,"num_experts":3,"num_experts_per_tok":2,"moe_intermediate_size":4,
		"shared_expert_intermediate_size":7}`,
		3*(8*(2*3+10)+8*10+2*8*2+(2*3+10)*4+2*2+5+10*8) + 8*2*12 + 2*8*6 + 12*8 + 2*6 +
			4*(3*3*8*4+8*3+3*8*7+8) + 9*8 + 2*10*8, "",
	},
	{
		"Nemotron by search", `{"model_type":"nemotron-nas","hidden_size":768,"num_hidden_layers":3,"vocab_size":10,"num_attention_heads":4,"block_configs":[
		{"attention":{"n_heads_in_group":2,"no_op":false},"ffn":{"ffn_mult":1.0}},
		{"attention":{"n_heads_in_group":null,"no_op":true},"ffn":{"ffn_mult":0.3}},
		{"attention":{"replace_with_linear":true},"ffn":{"no_op":true}}]}`,
		3*768*768 + 3*768*512 + 2*768 + // two keys; 512 is the width rounded to a multiple of 256
			3*768*256 + 768 + 768*768 + 768 + 768 + 2*10*768, "",
	},
	{
		"MiMo", `{"model_type":"mimo_v2_flash","hidden_size":8,"num_hidden_layers":2,"vocab_size":10,"intermediate_size":20,"num_attention_heads":4,
		"num_key_value_heads":1,"head_dim":6,"v_head_dim":3,"swa_num_attention_heads":4,"swa_num_key_value_heads":2,"swa_head_dim":6,"swa_v_head_dim":3,
		"hybrid_layer_pattern":[0,1],"moe_layer_freq":[0,1],"n_routed_experts":3,"num_experts_per_tok":2,"moe_intermediate_size":5,
		"n_shared_experts":null,"add_swa_attention_sink_bias":true}`,
		8*(4*6+6+3) + 4*3*8 + 3*8*20 + 8*(4*6+2*6+2*3) + 4*3*8 + 4 + 3*3*8*5 + 8*3 + 5*8 + 2*10*8, "",
	},
}

func TestHybrids(t *testing.T) {
	for _, c := range hybrids {
		t.Run(c.name, func(t *testing.T) {
			f, err := Read(strings.NewReader(c.json), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Model.Params(); got != c.params {
				t.Errorf("%d parameters, want %d", got, c.params)
			}
			if f.Model.Guess() != profile.Transformer || f.Model.Layers[len(f.Model.Layers)-1].Validate() != nil {
				t.Errorf("family %v", f.Model.Guess())
			}
			told := strings.Contains(strings.Join(f.Spec(1).Warnings, "\n"), c.warning)
			if !told || c.warning == "" && len(f.Warnings) > 0 {
				t.Errorf("warnings %v, want %q", f.Warnings, c.warning)
			}
			if several := c.name == "Qwen3.5"; (f.Model.Unknown()&profile.ParamCounts != 0) != several {
				t.Errorf("unknown %v", f.Model.Unknown())
			}
		})
	}
}

// TestHybridFaults: what does not fit together is refused by name.
func TestHybridFaults(t *testing.T) {
	for _, c := range []struct{ json, old, now, want string }{
		{hybrids[0].json, `"ME*-"`, `"ME*x"`, `block 3 is "x"`},
		{hybrids[0].json, `"ME*-"`, `""`, "hybrid_override_pattern is missing"},
		{hybrids[0].json, `"num_hidden_layers":4`, `"num_hidden_layers":5`, "the pattern has 4 blocks"},
		{hybrids[0].json, `"n_routed_experts":3,`, ``, "n_routed_experts is missing"},
		{hybrids[1].json, `"linear_key_head_dim":3,`, ``, "linear_key_head_dim is missing"},
		{hybrids[3].json, `"n_heads_in_group":2`, `"n_heads_in_group":3`, "want a divisor of 4"},
		{hybrids[3].json, `"ffn_mult":1.0`, `"ffn_mult":1e9`, "ffn_mult is 1e+09"},
		{hybrids[3].json, `"num_hidden_layers":3`, `"num_hidden_layers":2`, "block_configs is no list"},
		{hybrids[4].json, `"moe_layer_freq":[0,1]`, `"moe_layer_freq":[0]`, "moe_layer_freq are no lists"},
		{`{"model_type":"llama","layers_block_type":["mamba"],"hidden_size":8}`, "", "", "layers_block_type makes it a network"},
	} {
		json := strings.Replace(c.json, c.old, c.now, 1)
		if _, err := Read(strings.NewReader(json), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.want, err)
		}
	}
}

// TestNoTransformer: JSON that lies beside models is named as what it is.
func TestNoTransformer(t *testing.T) {
	for json, want := range map[string]string{
		`{"producer":{"name":"x"},"quantization":{"quant_algo":"FP8"}}`:           "settings of a quantisation",
		`{"peft_type":"LORA","r":8}`:                                              "settings of an adapter",
		`{"tokenizer_class":"X","model_max_length":1}`:                            "settings of a tokenizer",
		`{"do_sample":true,"eos_token_id":1}`:                                     "settings of generation",
		`{"image_processor_type":"X"}`:                                            "settings of an image processor",
		`{"zero_optimization":{"stage":2}}`:                                       "settings of DeepSpeed",
		`{"_class_name":"DDIMScheduler","beta_start":0.1}`:                        "DDIMScheduler of diffusers is a schedule of noise",
		`{"_class_name":"StableDiffusionPipeline","unet":["diffusers","UNet2D"]}`: "a pipeline of several networks",
		`{"a":1}`: "no hidden_size and no model_type",
	} {
		if _, err := Read(strings.NewReader(json), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", json, err, want)
		}
	}
}
