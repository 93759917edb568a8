package modelfile

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"example.com/colloc/internal/golden"
)

// digest sums up what was read of some texts: parameters, activations, multiply-adds and
// layers, how many were refused, and a hash of all that was said of them.
type digest struct {
	params, activations, macs int64
	layers, refused           int
	all                       strings.Builder
}

func (d *digest) add(text []byte, o *Options) {
	f, err := Read(bytes.NewReader(text), o)
	if err != nil {
		d.refused++
		fmt.Fprintln(&d.all, err)
		return
	}
	macs, _ := f.Model.MACs()
	d.params, d.macs, d.layers = d.params+f.Model.Params(), d.macs+macs, d.layers+len(f.Model.Layers)
	d.activations += max(0, activationsOf(f.Model))
	fmt.Fprintf(&d.all, "%v %q %q %v %v %v %v\n", f.Format, f.Model.Name, f.Model.Architecture, f.Model.Family, f.SampleElements, f.TotalParams, f.Warnings)
	for _, l := range f.Model.Layers {
		fmt.Fprintf(&d.all, "%+v\n", l)
	}
}

func (d *digest) String() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(d.all.String())) // a hash takes all
	return fmt.Sprintf("%d %d %d in %d layers, %d refused, %016x", d.params, d.activations, d.macs, d.layers, d.refused, h.Sum64())
}

// kerasClasses and kerasSettings are combined with inputs of one to four dimensions.
var (
	kerasClasses = strings.Fields(`Dense Embedding Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose SeparableConv1D SeparableConv2D
		DepthwiseConv1D DepthwiseConv2D LSTM GRU SimpleRNN Bidirectional TimeDistributed MultiHeadAttention GroupedQueryAttention Attention AdditiveAttention
		BatchNormalization LayerNormalization GroupNormalization UnitNormalization PReLU ReLU LeakyReLU Softmax Activation Dropout SpatialDropout1D GaussianNoise
		MaxPooling1D MaxPooling2D AveragePooling2D AveragePooling3D GlobalAveragePooling1D GlobalMaxPooling2D Flatten Reshape Permute RepeatVector
		UpSampling1D UpSampling2D ZeroPadding1D ZeroPadding2D Cropping1D Cropping2D Add Multiply Concatenate Lambda Masking Rescaling Normalization
		RandomFlip Resizing EinsumDense ConvLSTM2D LocallyConnected1D Convolution1D Convolution2D AtrousConvolution2D Deconvolution2D
		SeparableConvolution2D TimeDistributedDense Merge Highway Made`)
	kerasInner = []string{
		`"layer": {"class_name": "LSTM", "config": {"units": 3, "return_sequences": true}}, `,
		`"layer": {"class_name": "Dense", "config": {"units": 3}}, `,
		`"layer": {"class_name": "Conv2D", "config": {"filters": 2, "kernel_size": [3, 2], "strides": [1, 2]}}, `,
	}
	kerasSettings = []string{
		`"units": 4, "filters": 4, "kernel_size": 3, "input_dim": 10, "output_dim": 4, "pool_size": 2, "num_heads": 2, "key_dim": 3, "depth_multiplier": 2, "size": 2,
			"padding": "same", "strides": 2, "target_shape": [4, -1], "axis": -1`,
		`"units": 5, "filters": 6, "kernel_size": [2], "input_dim": 7, "output_dim": 3, "pool_size": [3], "num_heads": 2, "key_dim": 4, "value_dim": 5, "size": [2, 3], "groups": 2,
			"padding": [[1, 2], [0, 3]], "dilation_rate": 2, "use_bias": false, "center": false, "activation": "relu", "return_sequences": true, "keepdims": true, "reset_after": false,
			"target_shape": [2, 8], "axis": 1, "shared_axes": [1], "mode": "sum"`,
		`"nb_filter": 4, "nb_row": 3, "nb_col": 2, "filter_length": 3, "output_dim": 5, "input_dim": 9, "subsample": [2, 1], "subsample_length": 2, "pool_length": 2, "border_mode": "same",
			"bias": false, "padding": 1, "mode": "concat", "inner_init": "orthogonal", "n": 3`,
	}
)

// TestGolden: what is read of many configurations, layers, operators and weights stays as it
// was, unless somebody means it: -update then.
func TestGolden(t *testing.T) {
	var out bytes.Buffer
	line := func(name string, fill func(*digest)) {
		var d digest
		fill(&d)
		fmt.Fprintf(&out, "%s: %v\n", name, &d)
	}
	heads := func(text string) func(*digest) {
		return func(d *digest) {
			for head := DefaultHead; head <= LanguageHead; head++ {
				d.add([]byte(text), &Options{Head: head, SequenceLength: 40 * int(head)})
			}
			for _, class := range []string{"BertModel", "BertForCausalLM", "BertForSequenceClassification", "BertForTokenClassification", "BertForQuestionAnswering"} {
				d.add([]byte(strings.Replace(text, "{", fmt.Sprintf(`{"_name_or_path": "me/it", "id2label": {"0": "a", "1": "b", "2": "c"}, "architectures": [%q],`, class), 1)), nil)
			}
		}
	}
	for _, c := range configs {
		line(c.name, heads(c.json))
	}
	for _, c := range hybrids {
		line(c.name, heads(c.json))
	}
	for _, class := range kerasClasses {
		line(class, func(d *digest) {
			for _, shape := range []string{"16", "12, 16", "8, 9, 16", "4, 8, 8, 6"} {
				for i, settings := range kerasSettings {
					if class == "Bidirectional" || class == "TimeDistributed" {
						settings = kerasInner[i] + settings
					}
					d.add(fmt.Appendf(nil, `{"class_name": "Sequential", "config": {"name": "net", "layers": [
						{"class_name": "InputLayer", "config": {"batch_input_shape": [null, %s]}}, {"class_name": %q, "config": {%s}}, {"class_name": "Dense", "config": {"units": 2}}]}}`, shape, class, settings), nil)
				}
			}
		})
	}
	for op := range strings.FieldsSeq("Conv ConvTranspose MaxPool AveragePool GlobalAveragePool Gemm MatMul Gather Concat Add Mul Relu Softmax Flatten BatchNormalization LayerNormalization Dropout LSTM GRU Attention Reshape Transpose Made") {
		line(op, func(d *digest) {
			for _, ints := range []map[string][]int64{nil, {"kernel_shape": {3, 3}, "pads": {1, 0, 1, 2}, "strides": {2, 1}, "transB": {1}, "axis": {1}}, {"kernel_shape": {2, 2}, "strides": {3, 3}, "group": {2}, "axis": {-1}}} {
				for _, dims := range [][]int64{nil, {4, 8, 3, 3}, {8, 4, 2, 2}, {8, 6}, {10}} {
					g := newGraph(8, 10)
					first := g.value
					g.node("Relu", nil)
					if dims == nil {
						g.node(op, ints, first)
					} else {
						g.node(op, ints, g.weight(len(dims) > 2, dims...), g.weight(false, dims[0]))
					}
					d.add(g.node("Sigmoid", nil).node("MatMul", nil, first).model(), nil)
				}
			}
		})
	}
	for module := range strings.FieldsSeq("model.embed_tokens h.0.attn.c_attn layers.1.self_attn.q_proj layers.1.mlp.experts.0.w1 layers.1.mlp.gate conv1 bn1 norm lm_head rotary_emb.inv_freq encoder.lora_A classifier") {
		line(module, func(d *digest) {
			for _, shape := range [][]int64{{8}, {8, 4}, {4, 8, 2}, {8, 4, 3, 3}} {
				for _, rest := range [][]weight{nil, {{module + ".bias", []int64{8}}}, {{module + ".running_mean", []int64{8}}, {module + ".num_batches_tracked", nil}}} {
					list := append([]weight{{module + ".weight", shape}}, rest...)
					d.add(safetensors(list), nil)
					d.add(ggufFile(list), nil)
				}
			}
		})
	}
	golden.Check(t, "golden.txt", out.String())
}
