package hf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/draft"
)

// foreign reports, as a fault, a setting that makes another network of a known
// type: what its name says would be described, and it is not.
func (c *config) foreign() bool {
	allowed := map[string]string{
		"kv_lora_rank": "deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2 glm_moe_dsa", "interleave_moe_layer_step": "llama4_text",
		"num_hidden_groups": "albert", "hybrid_override_pattern": "nemotron_h", "layers_block_type": "nemotron_h", "block_configs": "nemotron-nas",
		"linear_num_value_heads": "qwen3_next qwen3_5_text qwen3_5_moe_text", "linear_key_head_dim": "qwen3_next qwen3_5_text qwen3_5_moe_text",
	}
	for _, key := range []string{
		"hybrid_override_pattern", "layers_block_type", "block_configs", "mamba_d_state", "mamba_d_conv", "ssm_cfg", "attn_layer_period",
		"linear_num_value_heads", "linear_key_head_dim", "kv_lora_rank", "interleave_moe_layer_step", "num_hidden_groups", "audio_processor",
		"hidden_size_per_layer_input",
	} {
		if c.has(key) && !slices.Contains(strings.Fields(allowed[key]), c.modelType) && c.find1("text_config") == nil {
			c.faults = append(c.faults, fmt.Errorf("%s makes it a network that this package does not know; %s", key, draft.WayOut))
			return true
		}
	}
	if why := c.stranger(); why != "" {
		c.faults = append(c.faults, fmt.Errorf("%s, a network that this package does not know; %s", why, draft.WayOut))
		return true
	}
	return false
}

// stranger names what makes another network of the type that is named; "" is nothing.
func (c *config) stranger() string {
	switch at := c.text("position_embedding_type"); at {
	case "", "absolute", "rope_gpt_neox", "rope":
	default:
		return fmt.Sprintf("position_embedding_type is %q", reading.Clip(at))
	}
	switch part := c.text("feed_forward_type"); {
	case part != "" && part != "original":
		return fmt.Sprintf("feed_forward_type is %q", reading.Clip(part))
	case string(c.find1("add_cross_attention")) == "true":
		return "add_cross_attention: it looks at the output of another network"
	}
	if raw := c.find1("attn_config"); bytes.Contains(raw, []byte("kv_n_heads")) || bytes.Contains(raw, []byte("multiquery_attention")) {
		return "attn_config: several queries share a key"
	}
	var classes []string
	if raw := c.find1("architectures"); raw == nil || json.Unmarshal(raw, &classes) != nil || len(classes) == 0 || classes[0] == "" || c.inner() != nil {
		return ""
	}
	class := strings.ToLower(strings.ReplaceAll(classes[0], "_", ""))
	for _, word := range []string{"eagle", "medusa", "speculat", "draft", "lora"} {
		if strings.Contains(class, word) {
			return "architectures is " + reading.Clip(classes[0])
		}
	}
	for own := range strings.FieldsSeq(knownClasses) {
		if strings.HasPrefix(class, own) {
			return ""
		}
	}
	if _, name := c.fields["_class_name"]; c.modelType == "" || name || c.known() == nil && c.modelType != "llava_llama" {
		return "" // other words tell what it is
	}
	return "architectures is " + reading.Clip(classes[0])
}

// knownClasses are how the classes of what is described begin, without underscores.
const knownClasses = "albert baichuan bart bert bloom camembert chatglm clip codegen cohere decilm deepseek deit distilbert dpr electra ernie4 falcon gemma glm gpt " +
	"granite internlm2 kimi llama llava marian mbart mimov2 minimaxm2 mistral mixtral mpt mt5 nemotron olmo opt phi plbart qwen roberta rw smollm3 stablelm " +
	"starcoder2 t5 vit whisper xlmroberta yi debertav2"

// fill adds to the text model of several what the library adds to it where a file
// leaves it out.
func (c *config) fill() {
	defaults := map[string]string{
		"gemma":       `{"vocab_size": 256000, "head_dim": 256}`,
		"gemma2":      `{"vocab_size": 256000, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256}`,
		"gemma3_text": `{"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256}`,
		"llama":       `{"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32}`,
	}
	var own map[string]json.RawMessage
	if json.Unmarshal([]byte(defaults[c.modelType]), &own) != nil || c.modelType == "llama" && c.has("hidden_size") {
		return
	}
	for key, raw := range own {
		if !c.has(key) {
			c.fields[key] = raw
		}
	}
}
