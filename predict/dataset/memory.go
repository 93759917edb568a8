package dataset

import (
	"fmt"
	"io"

	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// MemoryRow is one measured task of a memory data set.
type MemoryRow struct {
	// Line is the row's line in the file.
	Line int
	// Observation is what the task is and how much memory it took.
	Observation memory.Observation
	// Excluded says why the row must not be used, as the file's columns tell;
	// empty for a good row. Censored rows are good rows.
	Excluded string
	// Unclear says why a good row should be scored and not fitted: what it tells of
	// the task is not certain. Empty for most.
	Unclear string
	// SoloUse is how busy the task kept its GPU, where the set tells.
	SoloUse profile.Sample
	// Others are estimates by other programs that the set quotes, by name:
	// "horus", "faketensor", "gpumemnet".
	Others map[string]profile.Bytes
}

// ReadMemory reads a memory data set. The layout is recognised by its columns:
// GPUMemNet's MLP, CNN and encoder sets, its timm sheet, CARMA's real models, Horus's
// dense networks on MNIST, or the peaks on MIG slices of MIGProfiler. file names the source in errors. The first bad line
// ends the reading; all faults of that line are told. O(rows).
func ReadMemory(file string, r io.Reader) ([]MemoryRow, error) {
	t, err := readTable(file, r)
	if err != nil {
		return nil, err
	}
	layout, err := t.memoryLayout()
	if err != nil {
		return nil, err
	}
	return eachRow(t, func(line *row, m *MemoryRow) {
		m.Line = line.line()
		layout(line, m)
		if len(line.errs) > 0 {
			return
		}
		if err := m.Observation.Spec.Validate(); err != nil {
			line.errs = append(line.errs, fmt.Errorf("dataset: %s:%d: %w", file, m.Line, err))
		}
	})
}

// memoryLayout finds the reader of one line by the columns that are there.
func (t *table) memoryLayout() (func(*row, *MemoryRow), error) {
	for _, l := range []struct {
		telling string
		columns []string
		read    func(*row, *MemoryRow)
	}{
		{"faketensor_estimate_mib", []string{"model", "family", "batch_size", "faketensor_after_forward_mib", "faketensor_after_backward_mib", "peak_mem_mib", "drop_reason", "valid"}, readTIMM},
		{"rad_file", []string{"model", "kind", "batch_size", "n_gpus", "peak_mem_mib", "total_params_dedup", "mislabelled_duplicate", "dump_is_of_another_model"}, readCARMA},
		{"act_conv_elems_per_sample", []string{"arch", "activation", "batch_size", "total_params", "max_layer_act_elems_per_sample", "peak_mem_mib", "censored_oom", "near_capacity", "layer_list_incomplete"}, readCNN},
		{"act_linear_elems_per_sample", []string{"arch", "activation", "batch_size", "total_params", "max_layer_act_elems_per_sample", "peak_mem_mib"}, readMLP},
		{"ff_hidden", []string{"num_classes", "embed", "layers", "heads", "seq_len", "vocab", "batch_size", "peak_mem_mib", "status"}, readEncoder},
		{"gr_active", []string{"gpu", "model", "batch_size", "seq_len", "slice", "status", "mem_used_mib"}, readSlicePeak},
		{"horus_estimate_mib", []string{"peak_mem_mib", "neurons_per_layer", "n_layers"}, readHorus},
	} {
		if t.has(l.telling) {
			return l.read, t.require(l.columns...)
		}
	}
	return nil, fmt.Errorf("dataset: %s:1: the columns are those of no memory set; see package dataset", t.file)
}

// readMLP reads a line of GPUMemNet's set of dense networks: PyTorch, Adam,
// fp32, A100.
func readMLP(r *row, m *MemoryRow) {
	net := network{
		family: profile.MLP, activation: r.text("activation"), params: r.count("total_params"),
		biggest: r.count("max_layer_params"), largest: r.count("max_layer_act_elems_per_sample"),
		input: r.count("input_size"),
		block: [4]group{
			{profile.Linear, r.count("n_linear"), r.count("act_linear_elems_per_sample")},
			{profile.Norm, r.count("n_batchnorm"), r.count("act_batchnorm_elems_per_sample")},
			{profile.Activation, r.count("n_activation"), r.count("act_nonlin_elems_per_sample")},
			{profile.Dropout, r.count("n_dropout"), r.count("act_dropout_elems_per_sample")},
		},
	}
	m.synthetic(r, &net)
	if batch := m.Observation.Spec.Training.BatchSize; batch != 0 && net.block[1].n > 0 && mlpSamples%batch == 1 {
		m.SoloUse = profile.Sample{} // the job died after its first epoch
	}
}

// mlpSamples is the number of samples of the MLP set's training data. It is not
// stated; it shows in the jobs whose last batch would hold a single sample,
// which batch normalisation refuses: those with a batch that leaves one of 4096
// and a normalisation, and no others, have no activity after the first second.
const mlpSamples = 4096

// readCNN reads a line of GPUMemNet's set of convolutional networks.
func readCNN(r *row, m *MemoryRow) {
	conv := group{profile.Conv, r.count("n_conv2d"), r.count("act_conv_elems_per_sample")}
	net := network{
		family: profile.CNN, activation: r.text("activation"), params: r.count("total_params"),
		biggest: r.count("max_layer_params"), largest: r.count("max_layer_act_elems_per_sample"),
		inout: r.count("max_conv_inout_elems_per_sample"), input: r.count("input_elems_per_sample"),
		block: [4]group{
			conv,
			{profile.Norm, r.count("n_batchnorm"), r.count("act_batchnorm_elems_per_sample")},
			{profile.Activation, r.count("n_activation"), r.count("act_nonlin_elems_per_sample")},
			{profile.Dropout, r.count("n_dropout"), r.count("act_dropout_elems_per_sample")},
		},
		head: group{profile.Linear, r.count("n_linear"), r.countOrNone("num_classes")},
	}
	if r.flag("layer_list_incomplete") && r.text("arch") == "dense" {
		// The dump has no concatenations. In a block of n convolutions the
		// i-th reads what the i before it wrote.
		net.concat = conv.elements * conv.n / concatShare
	}
	m.synthetic(r, &net)
	m.Observation.Censored = r.flag("censored_oom")
	if r.flag("near_capacity") {
		m.Excluded = "near capacity: the allocator retried, the peak is capped"
	}
}

// concatShare turns convolution outputs × convolutions into the elements of the
// concatenations of a dense network with four blocks.
const concatShare = 4

// synthetic fills in what GPUMemNet's two sets of generated networks share.
func (m *MemoryRow) synthetic(r *row, net *network) {
	o := &m.Observation
	o.Spec.Model = net.model(r.text("task_id"))
	o.Spec.Dataset.SampleElements = profile.Some(net.input)
	o.Spec.Training = profile.Training{BatchSize: int(r.count("batch_size")), Optimizer: r.optimizer("optimizer")}
	o.Host.Name = "GPUMemNet"
	o.Group = r.text("arch")
	o.Spec.Model.Architecture = "GPUMemNet " + o.Group
	o.Peak = r.peak("peak_mem_mib")
	m.SoloUse = profile.Sample{
		GPUBusy:     r.fraction("avg_gpu_util_pct", 100),
		SMActive:    r.fraction("avg_sm_active_frac", 1),
		SMOccupancy: r.fraction("avg_sm_occupancy_frac", 1),
		FP32Active:  r.fraction("avg_fp32_active_frac", 1),
	}
}

// optimizer reads the name of an update rule; empty is unknown.
func (r *row) optimizer(column string) profile.Optimizer {
	var o profile.Optimizer
	if cell := r.text(column); cell != "" {
		if err := o.UnmarshalText([]byte(cell)); err != nil {
			r.fault(column, "%v", err)
		}
	}
	return o
}

// peak reads the measured memory, which no row lacks.
func (r *row) peak(column string) profile.Bytes {
	v, ok := r.mib(column).Get()
	if !ok && r.text(column) == "" {
		r.fault(column, "is empty, want MiB")
	}
	return v
}
