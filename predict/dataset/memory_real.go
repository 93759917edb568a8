package dataset

import (
	"strings"

	"example.com/colloc/profile"
)

// readTIMM reads a line of GPUMemNet's sheet of timm models: no layers, only
// what PyTorch's FakeTensorMode counted. Training with Adam in fp32.
func readTIMM(r *row, m *MemoryRow) {
	o := &m.Observation
	o.Spec.Model = timmModel(r.text("model"))
	o.Spec.Training = profile.Training{BatchSize: int(r.count("batch_size")), Optimizer: profile.Adam}
	o.Spec.Traced = profile.Traced{
		AfterForward:  r.mib("faketensor_after_forward_mib"),
		AfterBackward: r.mib("faketensor_after_backward_mib"),
	}
	o.Host.Name = "GPUMemNet"
	o.Group = r.text("family")
	o.Spec.Model.Architecture = "timm " + o.Group
	o.Peak = r.peak("peak_mem_mib")
	r.estimate(&m.Others, "faketensor", "faketensor_estimate_mib")
	if !r.flag("valid") {
		m.Excluded = r.text("drop_reason")
		if m.Excluded == "" {
			m.Excluded = "marked as not valid"
		}
	}
}

// readHorus reads a line of Horus's dense networks on MNIST: n layers of equal
// width, ten classes. The batch is not stated; Horus's example trains with 64.
func readHorus(r *row, m *MemoryRow) {
	const pixels, classes = 28 * 28, 10
	width, n := r.count("neurons_per_layer"), r.count("n_layers")
	if width > 1<<20 || n > maxLayers {
		r.fault("n_layers", "%d layers of %d neurons are not a network", n, width)
		return
	}
	o := &m.Observation
	o.Spec.Model = profile.Model{Name: "fc", Family: profile.MLP}
	before := int64(pixels)
	for range n {
		o.Spec.Model.Layers = append(o.Spec.Model.Layers,
			profile.Layer{Name: "linear", Kind: profile.Linear, Neurons: width, Params: width * (before + 1), Activations: width},
			profile.Layer{Name: "relu", Kind: profile.Activation, Activations: width})
		before = width
	}
	o.Spec.Model.Layers = append(o.Spec.Model.Layers,
		profile.Layer{Name: "linear", Kind: profile.Linear, Neurons: classes, Params: classes * (before + 1), Activations: classes})
	o.Spec.Dataset.SampleElements = profile.Some[int64](pixels)
	o.Spec.Training = profile.Training{BatchSize: 64, Optimizer: profile.Adam}
	o.Host.Name = "Horus"
	o.Group = "fc"
	o.Peak = r.peak("peak_mem_mib")
	r.estimate(&m.Others, "horus", "horus_estimate_mib")
}

// estimate stores what another program estimated; 40000 MiB is CARMA's word for
// "none" and stays an estimate: that is what its scheduler used.
func (r *row) estimate(to *map[string]profile.Bytes, name, column string) {
	v, ok := r.mib(column).Get()
	if !ok {
		return
	}
	if *to == nil {
		*to = make(map[string]profile.Bytes)
	}
	(*to)[name] = v
}

// readCARMA reads a line of CARMA's real models: A100 40 GB, fp32, Adam where
// nothing else is said.
func readCARMA(r *row, m *MemoryRow) {
	o := &m.Observation
	params := r.opt("total_params_dedup").Or(r.opt("total_params").Or(0))
	if params < 0 {
		r.fault("total_params_dedup", "%v is not a count", params)
		return
	}
	switch kind := r.text("kind"); {
	case kind == "cnn" && strings.HasPrefix(r.text("model"), "mobilenet") && r.text("n_conv2d") == "": // the dump is another's
		o.Spec.Model = profile.Model{Name: r.text("model"), Family: profile.CNN}
		(&architecture{model: &o.Spec.Model, channels: 3, side: 32}).mobilenet(100)
	case kind == "cnn":
		o.Spec.Model = r.carmaCNN(int64(params)).model(r.text("model"))
	case kind == "transformer":
		o.Spec.Model = r.carmaTransformer(int64(params))
	case kind == "recommender":
		o.Spec.Model = r.carmaDLRM(int64(params))
	case kind == "detection":
		o.Spec.Model = profile.Model{Name: r.text("model"), Family: profile.CNN}
		(&architecture{model: &o.Spec.Model}).maskRCNN(1037, 91) // as many pixels as 800 x 1344
	default:
		o.Spec.Model = r.carmaOther(int64(params))
	}
	if n := r.countOrNone("input_elems_per_sample"); n > 0 {
		o.Spec.Dataset.SampleElements = profile.Some(n)
	}
	t := &o.Spec.Training
	*t = profile.Training{BatchSize: int(r.countOr("batch_size", 1)), Optimizer: profile.Adam, GPUs: int(r.countOr("n_gpus", 1))}
	if t.GPUs > 1 {
		t.Parallelism = profile.DataParallel
		m.Unclear = "on two GPUs: the set does not tell what share of the batch each holds"
	}
	o.Host.Name = "CARMA"
	o.Group = family(r.text("model"))
	o.Spec.Model.Architecture = "CARMA " + o.Group
	o.Peak = r.peak("peak_mem_mib")
	r.estimate(&m.Others, "horus", "est_horus_mib")
	r.estimate(&m.Others, "faketensor", "est_faketensor_mib")
	r.estimate(&m.Others, "gpumemnet", "est_gpumemnet_upper_mib")
	_, layered := o.Spec.Model.Activations()
	if quoted, ok := m.Others["faketensor"]; ok && quoted < noEstimate && !layered {
		o.Spec.Traced.AfterBackward = profile.Some(quoted) // all that is known beside the parameters
	}
	if r.flag("mislabelled_duplicate") {
		m.Excluded = "mislabelled duplicate of another model"
	}
}

// family is the beginning of a model's name: resnet of resnet18_cifar100, vit of vit-b16.
func family(model string) string {
	if end := strings.IndexAny(model, "_-0123456789"); end > 0 {
		return strings.ToLower(model[:end])
	}
	return strings.ToLower(model)
}

// carmaDLRM is Meta's DLRM with the layers of CARMA's dump: three tables of which the
// vectors meet the dense features pair by pair.
func (r *row) carmaDLRM(params int64) profile.Model {
	m := profile.Model{Name: r.text("model"), Family: profile.Recommender}
	b := architecture{model: &m}
	dense := func(in int64, out ...int64) {
		for _, n := range out {
			params -= n * (in + 1)
			b.add("linear", profile.Linear, n*(in+1), n)
			b.add("ReLU", profile.Activation, 0, n) // the last is a sigmoid, which keeps as much
			in = n
		}
	}
	const width, tables = 64, 3
	dense(13, 512, 256, 128, width)
	b.add("interaction", profile.OtherLayer, 0, width+(tables+1)*tables/2)
	dense(width+(tables+1)*tables/2, 1024, 512, 256, 1)
	m.Layers = append([]profile.Layer{{Name: "tables", Kind: profile.Embedding, Params: max(0, params), Activations: tables * width}}, m.Layers...)
	return m
}

// noEstimate is how CARMA writes that an estimator had no answer.
const noEstimate = 40000 * profile.MiB

// carmaCNN are the aggregates of a convolutional network's dump. torchvision
// builds its non-linearities in place, which the dump does not show.
func (r *row) carmaCNN(params int64) *network {
	norm := group{profile.Norm, r.countOrNone("n_batchnorm"), r.countOrNone("act_batchnorm_elems_per_sample")}
	nonlin := group{profile.Activation, r.countOrNone("n_activation"), r.countOrNone("act_nonlin_elems_per_sample")}
	function := "ReLU"
	if family(r.text("model")) == "efficientnet" {
		function = "SiLU"
	}
	return &network{
		family: profile.CNN, activation: function, inPlace: true, params: params,
		biggest: r.countOrNone("max_layer_params"), largest: r.countOrNone("max_layer_act_elems_per_sample"),
		inout: r.countOrNone("max_conv_inout_elems_per_sample"),
		block: [4]group{
			{profile.Conv, r.countOrNone("n_conv2d"), r.countOrNone("act_conv_elems_per_sample")},
			norm, nonlin,
			{profile.Dropout, r.countOrNone("n_dropout"), r.countOrNone("act_dropout_elems_per_sample")},
		},
		head: group{profile.Linear, r.countOrNone("n_linear"), 0},
	}
}

// carmaTransformer builds the layers of an encoder or decoder from its width,
// depth, heads, length and vocabulary, with the parameters that the dump counts.
func (r *row) carmaTransformer(params int64) profile.Model {
	width, depth := r.countOrNone("hidden"), r.countOrNone("tf_layers")
	heads, length := r.countOrNone("heads"), r.countOrNone("seq_len")
	vocab := r.countOrNone("vocab")
	m := profile.Model{Name: r.text("model"), Family: profile.Transformer}
	if width == 0 || depth == 0 || depth > 1000 || width > 1<<20 || length > 1<<20 || heads > 1<<10 || vocab > 1<<24 {
		m.Layers = []profile.Layer{{Name: "all", Kind: profile.OtherLayer, Params: params}}
		return m
	}
	name := strings.ToLower(m.Name)
	eager := strings.HasPrefix(name, "xlnet") // the others' dumps name scaled_dot_product_attention
	k := blocks{
		width: width, inner: 4 * width, depth: depth, heads: heads, tokens: length, fused: !eager, first: strings.HasPrefix(name, "gpt2"),
		dropouts: 2, function: "gelu", bare: true,
	}
	if k.first {
		k.function = "new_gelu"
	}
	b := architecture{model: &m}
	b.add("embedding", profile.Embedding, max(0, params-12*width*width*depth), width*length)
	b.transformer(&k)
	if !eager { // which classifies sequences
		b.add("logits", profile.Linear, 0, vocab*length)
	}
	return m
}

// carmaOther is a model of which only the parameters are known.
func (r *row) carmaOther(params int64) profile.Model {
	return profile.Model{
		Name: r.text("model"), Layers: []profile.Layer{{Name: "all", Kind: profile.OtherLayer, Params: params}},
	}
}

// readSlicePeak reads a line of MIGProfiler's trainings on one MIG slice: the peak is
// what the slice had in use. Contexts are .2 to .3 GiB smaller on small slices.
func readSlicePeak(r *row, m *MemoryRow) {
	name := r.text("model")
	o := &m.Observation
	o.Spec.Model = profile.Model{Name: name}
	b := architecture{model: &o.Spec.Model}
	switch {
	case name == "resnet50", name == "moco-resnet50": // fine-tuned from MoCo's weights
		b.resnet("resnet50", 224)
	case name == "vit-b16":
		b.vit("vit_base_patch16_224", false) // of 2022: nothing was fused then
	case strings.HasPrefix(name, "bert"):
		o.Spec.Model.Family = profile.Transformer
		b.bert(r.size("seq_len", 1<<20))
	default:
		m.Excluded = "not a network whose layers are written down here"
	}
	o.Spec.Training = profile.Training{BatchSize: int(r.count("batch_size"))}
	o.Host.Name = "MIGProfiler"
	o.Group = family(strings.TrimPrefix(name, "moco-"))
	o.Spec.Model.Architecture = "MIGProfiler " + name
	if r.text("status") != "ok" {
		m.Excluded, o.Peak = "did not run", profile.GiB
		return
	}
	o.Peak = r.peak("mem_used_mib")
}

// readEncoder reads a line of GPUMemNet's set of generated encoders: an embedding,
// nn.TransformerEncoder, a classifier of the first token; PyTorch, Adam, fp32. The
// layers of PyTorch's encoder call scaled_dot_product_attention, which stores no
// scores; they have three dropouts each, and norms behind.
func readEncoder(r *row, m *MemoryRow) {
	k := blocks{
		width: r.size("embed", 1<<20), inner: r.size("ff_hidden", 1<<22), depth: r.size("layers", 1000), heads: r.size("heads", 1<<10),
		tokens: r.size("seq_len", 1<<20), joint: true, fused: true, dropouts: 3, function: "relu",
	}
	vocab, classes := r.size("vocab", 1<<28), r.size("num_classes", 1<<28)
	o := &m.Observation
	o.Spec.Model = profile.Model{Family: profile.Transformer, Architecture: "TransformerEncoder"}
	b := architecture{model: &o.Spec.Model}
	b.add("embedding", profile.Embedding, vocab*k.width, k.width*k.tokens)
	b.transformer(&k)
	b.add("head", profile.Linear, k.width*classes+classes, classes)
	o.Spec.Dataset.SampleElements = profile.Some(k.tokens)
	o.Spec.Training = profile.Training{BatchSize: int(r.count("batch_size")), Optimizer: profile.Adam}
	o.Host.Name = "GPUMemNet"
	o.Group = "encoder of width " + r.text("embed")
	o.Peak = r.peak("peak_mem_mib")
	switch status := r.text("status"); status {
	case "SUCCESSFUL":
	case "OOM_CRASH":
		o.Censored = true
	default:
		r.fault("status", "%q is neither SUCCESSFUL nor OOM_CRASH", status)
	}
}
