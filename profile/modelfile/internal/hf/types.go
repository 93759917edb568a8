package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// Read reads a config.json.
func Read(r *scan.Input, o Options) (*draft.Draft, error) {
	c, err := decodeConfig(r)
	if err != nil {
		return nil, err
	}
	f := &draft.Draft{}
	f.Model.Family = profile.Transformer
	f.Model.Name = c.text("_name_or_path")
	b := &builder{file: f}
	c.describe(b, o)
	if err := errors.Join(append(c.faults, b.fault)...); err != nil {
		return nil, fmt.Errorf("model_type %q: %w", reading.Clip(c.modelType), err)
	}
	return f, nil
}

// describe appends the leaves of the configured model.
func (c *config) describe(b *builder, o Options) {
	if b.file.Model.Architecture == "" {
		b.file.Model.Architecture = c.modelType
	}
	if c.foreign() {
		return
	}
	b.eager = c.eager()
	if describe := c.known(); describe != nil {
		describe(c, b, o)
		return
	}
	c.unknown(b, o)
}

// families are the types that are known, by what describes them.
//
//nolint:gochecknoglobals // read-only table
var families = []struct {
	describe func(*config, *builder, Options)
	types    string
}{
	{(*config).llama, "llama mistral qwen2 qwen3 qwen3_moe gemma mixtral phi3 qwen2_moe olmoe gpt_oss minimax_m2 gemma2 gemma3_text granite olmo2 " +
		"internlm2 baichuan smollm3 stablelm starcoder2 cohere qwen llama4_text qwen3_vl_text qwen3_vl_moe_text qwen2_vl_text qwen2_5_vl_text " +
		"chatglm olmo3 ernie4_5 cohere2 glm glm4 glm4_moe"},
	{(*config).deepseek, "deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2 glm_moe_dsa"},
	{(*config).nemotronH, "nemotron_h"},
	{(*config).deci, "nemotron-nas"},
	{(*config).qwenNext, "qwen3_next qwen3_5_text qwen3_5_moe_text"},
	{(*config).mimo, "mimo_v2_flash"},
	{(*config).phi, "phi"},
	{(*config).gpt2, "gpt2 gptj codegen gpt_bigcode gpt_neo bloom mpt falcon"},
	{(*config).neox, "gpt_neox"},
	{(*config).opt, "opt"},
	{(*config).bert, "bert roberta distilbert camembert xlm-roberta dpr electra deberta-v2"},
	{(*config).albert, "albert"},
	{(*config).t5, "t5 mt5"},
	{(*config).bart, "bart marian mbart plbart"},
	{(*config).whisper, "whisper"},
	{(*config).vit, "vit deit"},
	{(*config).clip, "clip"},
	{(*config).clipText, "clip_text_model"},
	{(*config).clipVision, "clip_vision_model"},
}

// known returns what describes the type; nil where it is none of the families.
func (c *config) known() func(*config, *builder, Options) {
	for i := range families {
		if slices.Contains(strings.Fields(families[i].types), c.modelType) {
			return families[i].describe
		}
	}
	return nil
}

// eager says whether attention stores its scores: where the file asks for it, in types
// that the transformers library (4.57) knows no fused kernel for, and where the scores
// are asked for. All others go through scaled_dot_product_attention, by default since
// 4.36 to 4.48, depending on the type; PyTorch has that since 2.0, and since 2.1 without
// storing the scores where a mask is given.
func (c *config) eager() bool {
	switch implementation := c.text("_attn_implementation") + c.text("attn_implementation"); {
	case c.flag("output_attentions", false):
		return true
	case implementation != "":
		return strings.HasPrefix(implementation, "eager")
	}
	switch c.modelType {
	case "t5", "mt5", "deberta-v2", "bloom", "mpt", "codegen", "gptj", "gpt_neo", "gemma2", "gpt_oss":
		return true
	}
	return false
}

// unknown describes the text model of a type that holds several, and tells why
// another type is none that this package knows.
func (c *config) unknown(b *builder, o Options) {
	inner := c.inner()
	switch class := c.text("_class_name"); {
	case inner != nil:
		first := len(b.file.Model.Layers)
		inner.describe(b, o)
		c.faults = append(c.faults, inner.faults...)
		if len(c.faults) == 0 && b.fault == nil && len(b.file.Model.Layers) > first {
			c.others(b)
		}
	case class != "":
		c.faults = append(c.faults, c.diffuser(class))
	case c.modelType == "llava" && c.has("hidden_size"), c.modelType == "llava_llama":
		c.llama(b, o)
		c.others(b)
	case c.modelType != "":
		c.faults = append(c.faults, fmt.Errorf("a type that this package does not know; known are %s; %s", knownTypes, draft.WayOut))
	case c.guess():
		b.file.Warn(0, "no model_type: described as %s", c.modelType)
		c.describe(b, o)
	default:
		c.faults = append(c.faults, fmt.Errorf("not the configuration of a transformer: %s", c.otherwise()))
	}
}

// diffuser says what a file of the diffusers library is.
func (c *config) diffuser(class string) error {
	switch {
	case strings.HasSuffix(class, "Scheduler"):
		return fmt.Errorf("%s of diffusers is a schedule of noise, not a network", reading.Clip(class))
	case strings.HasSuffix(class, "Pipeline"):
		return fmt.Errorf("%s of diffusers is a pipeline of several networks: describe those in its folders", reading.Clip(class))
	}
	return fmt.Errorf("%s of diffusers is not described here; %s", reading.Clip(class), draft.WayOut)
}

// otherwise says what a JSON file is that names no type of model, as far as its
// keys tell.
func (c *config) otherwise() string {
	for _, k := range []struct{ key, is string }{
		{"peft_type", "settings of an adapter; describe the config.json of its base model"},
		{"quantization", "settings of a quantisation; describe the config.json beside it"},
		{"quant_method", "settings of a quantisation; describe the config.json beside it"},
		{"image_processor_type", "settings of an image processor"},
		{"feature_extractor_type", "settings of a feature extractor"},
		{"processor_class", "settings of a processor of samples"},
		{"tokenizer_class", "settings of a tokenizer"},
		{"added_tokens", "a tokenizer"},
		{"bos_token", "a list of special tokens"},
		{"max_new_tokens", "settings of generation"},
		{"do_sample", "settings of generation"},
		{"train_micro_batch_size_per_gpu", "settings of DeepSpeed"},
		{"zero_optimization", "settings of DeepSpeed"},
	} {
		if c.has(k.key) {
			return k.is
		}
	}
	return "no hidden_size and no model_type"
}

// knownTypes are told where another type is refused.
const knownTypes = "the Llama, Qwen, DeepSeek, Nemotron, GPT, BERT, T5, BART, ViT, CLIP and Whisper families, among others"

// others adds what a configuration of several models holds beside its text model.
func (c *config) others(b *builder) {
	b.file.Warn(0, "model_type %q holds several models: its text model is described alone, the others are unknown", reading.Clip(c.modelType))
	b.add(profile.Layer{Name: "other models", Unknown: profile.ParamCounts | profile.ActivationCounts | profile.NeuronCounts})
}

// guess sets the type of a configuration without one, as old files are: by the
// class that it names, or where it has every field of BERT.
func (c *config) guess() bool {
	for _, t := range [][2]string{
		{"Roberta", "roberta"},
		{"DistilBert", "distilbert"},
		{"Bert", "bert"},
		{"GPT2", "gpt2"},
		{"Llama", "llama"},
		{"Mistral", "mistral"},
		{"Qwen2For", "qwen2"},
		{"T5For", "t5"},
		{"T5Encoder", "t5"},
		{"ViTFor", "vit"},
		{"Bart", "bart"},
		{"OPTFor", "opt"},
		{"CLIPTextModel", "clip_text_model"},
	} {
		if c.mentions(`"` + t[0]) {
			c.modelType = t[1]
			return true
		}
	}
	if c.has("type_vocab_size") && c.has("hidden_size") && c.has("intermediate_size") && c.has("num_attention_heads") {
		c.modelType = "bert"
		return true
	}
	return false
}

// inner returns the configuration of the text model inside one of several
// models, or nil.
func (c *config) inner() *config {
	raw := c.find1("text_config")
	if raw == nil {
		return nil
	}
	inner := &config{}
	if json.Unmarshal(raw, &inner.fields) != nil {
		return nil
	}
	delete(inner.fields, "text_config") // one level is all there is
	inner.modelType = inner.text("model_type")
	if tied, ok := c.fields["tie_word_embeddings"]; ok && !inner.has("tie_word_embeddings") {
		inner.fields["tie_word_embeddings"] = tied
	}
	if inner.modelType == "" && c.modelType == "llava" {
		inner.modelType = "llama" // the library's default
	}
	inner.fill()
	return inner
}
