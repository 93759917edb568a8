package dataset

import "example.com/colloc/profile"

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
	o.Peak = r.peak()
	m.others(r, "faketensor", "faketensor_estimate_mib")
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
	o.Peak = r.peak()
	m.others(r, "horus", "horus_estimate_mib")
}

// others stores what another program estimated; 40000 MiB is CARMA's word for
// "none" and stays an estimate: that is what its scheduler used.
func (m *MemoryRow) others(r *row, name, column string) {
	v, ok := r.mib(column).Get()
	if !ok {
		return
	}
	if m.Others == nil {
		m.Others = make(map[string]profile.Bytes)
	}
	m.Others[name] = v
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
	switch kind := r.text("kind"); kind {
	case "cnn":
		o.Spec.Model = r.carmaCNN(int64(params)).model(r.text("model"))
	case "transformer":
		o.Spec.Model = r.carmaTransformer(int64(params))
	default:
		o.Spec.Model = r.carmaOther(int64(params))
	}
	if n := r.countOrNone("input_elems_per_sample"); n > 0 {
		o.Spec.Dataset.SampleElements = profile.Some(n)
	}
	o.Spec.Training = profile.Training{
		BatchSize: int(r.countOr("batch_size", 1)), Optimizer: profile.Adam, GPUs: int(r.countOr("n_gpus", 1)),
	}
	if o.Spec.Training.GPUs > 1 {
		o.Spec.Training.Parallelism = profile.DataParallel
	}
	o.Host.Name = "CARMA"
	o.Group = r.text("model")
	o.Peak = r.peak()
	m.others(r, "horus", "est_horus_mib")
	m.others(r, "faketensor", "est_faketensor_mib")
	m.others(r, "gpumemnet", "est_gpumemnet_upper_mib")
	_, layered := o.Spec.Model.Activations()
	if quoted, ok := m.Others["faketensor"]; ok && quoted < noEstimate && !layered {
		o.Spec.Traced.AfterBackward = profile.Some(quoted) // all that is known beside the parameters
	}
	if r.flag("mislabelled_duplicate") {
		m.Excluded = "mislabelled duplicate of another model"
	}
}

// noEstimate is how CARMA writes that an estimator had no answer.
const noEstimate = 40000 * profile.MiB

// carmaCNN are the aggregates of a convolutional network's dump. torchvision
// builds its non-linearities in place, which the dump does not show.
func (r *row) carmaCNN(params int64) *network {
	norm := group{profile.Norm, r.countOrNone("n_batchnorm"), r.countOrNone("act_batchnorm_elems_per_sample")}
	nonlin := group{profile.Activation, r.countOrNone("n_activation"), r.countOrNone("act_nonlin_elems_per_sample")}
	return &network{
		family: profile.CNN, activation: "ReLU", inPlace: true, params: params,
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
	stream, square := width*length, width*width
	add := func(name string, kind profile.LayerKind, params, out int64) {
		m.Layers = append(m.Layers, profile.Layer{Name: name, Kind: kind, Params: params, Activations: out})
	}
	add("embedding", profile.Embedding, max(0, params-12*square*depth), stream)
	for range depth {
		add("norm", profile.Norm, 0, stream)
		for _, name := range []string{"query", "key", "value"} {
			add(name, profile.Linear, square, stream)
		}
		add("attention", profile.Attention, 0, heads*length*length)
		add("output", profile.Linear, square, stream)
		add("dropout", profile.Dropout, 0, stream)
		add("norm", profile.Norm, 0, stream)
		add("up", profile.Linear, 4*square, 4*stream)
		add("gelu", profile.Activation, 0, 4*stream)
		add("down", profile.Linear, 4*square, stream)
		add("dropout", profile.Dropout, 0, stream)
	}
	add("norm", profile.Norm, 0, stream)
	add("logits", profile.Linear, 0, vocab*length)
	return m
}

// carmaOther is a model of which only the parameters are known.
func (r *row) carmaOther(params int64) profile.Model {
	return profile.Model{
		Name: r.text("model"), Layers: []profile.Layer{{Name: "all", Kind: profile.OtherLayer, Params: params}},
	}
}
