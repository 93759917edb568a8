package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// mixer is what takes the place of attention in hybrid networks: projections, a
// short convolution over positions, a recurrence over a state, and a norm.
type mixer struct {
	inputs   []int64 // widths of the projections of the input
	conv     int64   // channels of the convolution
	kernel   int64
	convBias bool
	own      int64 // parameters of the recurrence itself
	state    int64 // multiply-adds of the recurrence at one position
	values   int64 // width of what comes out of it
	norm     int64 // parameters of the norm over the values
	bias     bool  // of the projections
}

func (b *builder) mixer(name string, width, length int64, m *mixer) {
	for i, out := range m.inputs {
		b.linear(fmt.Sprintf("%s.input%d", name, i+1), width, out, length, m.bias)
	}
	kernel := scan.Mul(m.conv, m.kernel)
	if m.convBias {
		kernel = scan.Add(kernel, m.conv)
	}
	b.conv(name+".conv", kernel, m.conv, length)
	b.add(profile.Layer{
		Name: name + ".recurrence", Kind: profile.Recurrent, Neurons: m.values, Params: m.own,
		Activations: scan.Mul(m.values, length), MACs: profile.Some(scan.Mul(m.state, length)),
	})
	b.norm(name+".norm", m.norm, scan.Mul(m.values, length))
	b.linear(name+".output", m.values, width, length, m.bias)
}

// nemotronH describes Nemotron-H and Nemotron 3: each block is a norm and one part,
// Mamba-2, attention, feed-forward or experts, in the order of a pattern
// (https://arxiv.org/abs/2504.03624).
func (c *config) nemotronH(b *builder, o Options) {
	width, heads, vocab := c.need("hidden_size"), c.need("num_attention_heads"), c.need("vocab_size")
	length := c.tokens(b, o, c.count(512, "max_position_embeddings"))
	bias := c.flag("attention_bias", false)
	k := &block{
		width: width, heads: heads, kvHeads: c.count(heads, "num_key_value_heads"), headSize: c.need("head_dim", "attention_head_dim"), length: length,
		inner: c.need("intermediate_size"), rms: true, qkvBias: bias, outBias: bias, mlpBias: c.flag("mlp_bias", false),
	}
	c.mixtureOf(k)
	k.narrow = c.count(0, "moe_latent_size")
	if n := c.count0("n_shared_experts"); n > 0 {
		k.shared = scan.Mul(n, c.need("moe_shared_expert_intermediate_size"))
	}
	states, values := scan.Mul(c.need("n_groups"), c.need("ssm_state_size")), scan.Mul(c.need("mamba_num_heads"), c.need("mamba_head_dim"))
	mamba := &mixer{
		inputs: []int64{scan.Add(scan.Mul(2, values), scan.Mul(2, states), c.need("mamba_num_heads"))},
		conv:   scan.Add(values, scan.Mul(2, states)), kernel: c.need("conv_kernel"), convBias: c.flag("use_conv_bias", true),
		own: scan.Mul(3, c.need("mamba_num_heads")), state: scan.Mul(2, values, c.need("ssm_state_size")), values: values, norm: values,
		bias: c.flag("mamba_proj_bias", false),
	}
	b.embedding("embeddings", vocab, width, length)
	for i, part := range c.pattern() {
		if b.fault != nil {
			return
		}
		name := fmt.Sprintf("layers.%d", i)
		b.norm(name+".norm", width, scan.Mul(width, length))
		switch part {
		case "M", "mamba":
			b.mixer(name+".mamba", width, length, mamba)
		case "*", "attention":
			b.attention(name+".attention", k, length)
		case "-", "mlp":
			b.feedForward(name+".mlp", k)
		case "E", "moe":
			if k.experts == 0 {
				c.faults = append(c.faults, fmt.Errorf("block %d has experts, and n_routed_experts is missing", i))
				return
			}
			b.mixture(name+".experts", k)
		default:
			c.faults = append(c.faults, fmt.Errorf("block %d is %q, want M, *, - or E", i, reading.Clip(part)))
			return
		}
	}
	b.norm("norm_f", width, scan.Mul(width, length))
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", false), false)
	if c.count0("num_nextn_predict_layers") > 0 {
		b.file.Warn(0, "described without the layers for multi-token prediction")
	}
}

// pattern returns the parts of the blocks of a hybrid network, one each.
func (c *config) pattern() (parts []string) {
	if raw := c.find1("layers_block_type"); raw != nil {
		if json.Unmarshal(raw, &parts) != nil {
			c.faults = append(c.faults, fmt.Errorf("layers_block_type is %s, want a list of words", reading.Clip(string(raw))))
			return nil
		}
	} else {
		for _, part := range c.text("hybrid_override_pattern") {
			parts = append(parts, string(part))
		}
	}
	switch n := c.count(int64(max(1, len(parts))), "num_hidden_layers"); {
	case len(parts) == 0:
		c.faults = append(c.faults, errors.New("hybrid_override_pattern is missing"))
	case n != int64(len(parts)) || n > maxBlocks:
		c.faults = append(c.faults, fmt.Errorf("the pattern has %d blocks, num_hidden_layers is %d, at most %d are allowed", len(parts), n, maxBlocks))
		return nil
	}
	return parts
}

// qwenNext describes Qwen3-Next and Qwen3.5: of four blocks three have a gated delta
// rule (https://arxiv.org/abs/2412.06464) in place of attention, whose queries
// carry a gate.
func (c *config) qwenNext(b *builder, o Options) {
	width, heads, vocab := c.need("hidden_size"), c.need("num_attention_heads"), c.need("vocab_size")
	length := c.tokens(b, o, c.count(512, "max_position_embeddings"))
	bias := c.flag("attention_bias", false)
	k := &block{
		width: width, heads: heads, kvHeads: c.count(heads, "num_key_value_heads"), headSize: c.headSize(width, heads), length: length,
		rms: true, qkvBias: bias, outBias: bias, gated: true, gateQuery: c.flag("attn_output_gate", true),
	}
	k.qkNorm = k.headSize
	c.mixtureOf(k)
	if k.experts == 0 || len(c.list("mlp_only_layers")) > 0 {
		k.inner = c.need("intermediate_size")
	}
	keySize, valueSize, valueHeads := c.need("linear_key_head_dim"), c.need("linear_value_head_dim"), c.need("linear_num_value_heads")
	keys, values := scan.Mul(keySize, c.need("linear_num_key_heads")), scan.Mul(valueSize, valueHeads)
	mixed := scan.Add(scan.Mul(2, keys), values)
	delta := &mixer{
		inputs: []int64{mixed, values, valueHeads, valueHeads}, conv: mixed, kernel: c.need("linear_conv_kernel_dim"),
		own: scan.Mul(2, valueHeads), state: scan.Mul(3, values, keySize), values: values, norm: valueSize,
	}
	full, dense := c.fullAttention(), c.list("mlp_only_layers")
	b.embedding("embed_tokens", vocab, width, length)
	for i := range c.depth("num_hidden_layers") {
		if b.fault != nil {
			return
		}
		name := fmt.Sprintf("decoder.layers.%d", i)
		b.norm(name+".norm1", width, scan.Mul(width, length))
		if full(i) {
			b.attention(name+".attention", k, length)
		} else {
			b.mixer(name+".linear_attention", width, length, delta)
		}
		b.norm(name+".norm2", width, scan.Mul(width, length))
		if k.experts > 0 && !slices.Contains(dense, int64(i)) {
			b.mixture(name+".experts", k)
		} else {
			b.feedForward(name+".mlp", k)
		}
	}
	b.norm("norm", width, scan.Mul(width, length))
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", false), false)
	c.withoutNextTokens(b, "mtp_num_hidden_layers")
}

// fullAttention returns which blocks have attention of all positions to all: those
// that layer_types calls so, or each full_attention_interval-th.
func (c *config) fullAttention() func(int) bool {
	var types []string
	if raw := c.find1("layer_types"); raw != nil && json.Unmarshal(raw, &types) == nil {
		return func(i int) bool { return i < len(types) && types[i] == "full_attention" }
	}
	interval := c.count(4, "full_attention_interval")
	return func(i int) bool { return int64(i+1)%interval == 0 }
}

// deci describes Nemotron's searched relatives of Llama, each of whose blocks says
// how many queries share a key, how wide it is, and what it leaves out.
func (c *config) deci(b *builder, o Options) {
	width, heads, vocab := c.need("hidden_size"), c.need("num_attention_heads"), c.need("vocab_size")
	length := c.tokens(b, o, c.count(512, "max_position_embeddings"))
	type part struct {
		Skip   bool    `json:"no_op"`
		Linear bool    `json:"replace_with_linear"`
		Group  int64   `json:"n_heads_in_group"`
		Times  float64 `json:"ffn_mult"`
	}
	var blocks []struct{ Attention, FFN part }
	if raw := c.find1("block_configs"); json.Unmarshal(raw, &blocks) != nil || len(blocks) != c.depth("num_hidden_layers") {
		c.faults = append(c.faults, errors.New("block_configs is no list of num_hidden_layers blocks"))
		return
	}
	b.embedding("embed_tokens", vocab, width, length)
	for i := range blocks {
		attention, ffn := &blocks[i].Attention, &blocks[i].FFN
		name := fmt.Sprintf("decoder.layers.%d", i)
		k := &block{width: width, heads: heads, headSize: c.headSize(width, heads), length: length, rms: true, gated: true}
		switch group := attention.Group; {
		case b.fault != nil:
			return
		case ffn.Times < 0 || ffn.Times > 1<<10:
			c.faults = append(c.faults, fmt.Errorf("block %d: ffn_mult is %v, want 0 to 1024", i, ffn.Times))
			return
		case attention.Skip || attention.Linear:
		case group < 1 || heads%group != 0:
			c.faults = append(c.faults, fmt.Errorf("block %d: n_heads_in_group is %d, want a divisor of %d", i, group, heads))
			return
		default:
			k.kvHeads = heads / group
		}
		k.inner = (int64(2*ffn.Times*float64(width)/3) + 255) / 256 * 256
		for at, p := range []*part{attention, ffn} {
			if p.Skip {
				continue
			}
			b.norm(fmt.Sprintf("%s.norm%d", name, at+1), width, scan.Mul(width, length))
			switch {
			case p.Linear:
				b.linear(fmt.Sprintf("%s.linear%d", name, at+1), width, width, length, false)
			case at == 0:
				b.attention(name+".attention", k, length)
			default:
				b.feedForward(name+".mlp", k)
			}
		}
	}
	b.norm("norm", width, scan.Mul(width, length))
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", false), false)
}

// mimo describes MiMo-V2-Flash: heads whose values are narrower than their keys,
// blocks that look at all positions or at the last ones with another number of keys,
// experts but in the first.
func (c *config) mimo(b *builder, o Options) {
	width, vocab := c.need("hidden_size"), c.need("vocab_size")
	length := c.tokens(b, o, c.count(512, "max_position_embeddings"))
	kind := func(prefix string) *block {
		k := &block{
			width: width, heads: c.need(prefix + "num_attention_heads"), kvHeads: c.need(prefix + "num_key_value_heads"),
			headSize: c.need(prefix + "head_dim"), valueDim: c.need(prefix + "v_head_dim"), inner: c.need("intermediate_size"), length: length,
			rms: true, norms: 2, gated: true, qkvBias: c.flag("attention_bias", false),
		}
		c.mixtureOf(k)
		return k
	}
	full, near := kind(""), kind("swa_")
	full.sinks, near.sinks = c.flag("add_full_attention_sink_bias", false), c.flag("add_swa_attention_sink_bias", false)
	windows, mixtures, depth := c.list("hybrid_layer_pattern"), c.list("moe_layer_freq"), c.depth("num_hidden_layers")
	if len(windows) != depth || len(mixtures) != depth {
		c.faults = append(c.faults, errors.New("hybrid_layer_pattern and moe_layer_freq are no lists of num_hidden_layers numbers"))
		return
	}
	b.embedding("embed_tokens", vocab, width, length)
	for i := range depth {
		k := *full
		if windows[i] != 0 {
			k = *near
		}
		if mixtures[i] == 0 {
			k.experts = 0
		}
		b.oneBlock("decoder", i, &k)
	}
	b.norm("norm", width, scan.Mul(width, length))
	c.languageHead(b, o, width, vocab, length, c.flag("tie_word_embeddings", false), false)
}
