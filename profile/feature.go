package profile

// VectorVersion is the version of the feature list. It grows by one whenever a
// feature is added, removed or changes its meaning; coefficients fitted on
// another version are refused.
const VectorVersion = 1

// Feature is the index of one entry of a [Vector].
type Feature uint8

// The features. Names, units and meanings are in the table behind [Feature.Info].
const (
	LayerCount Feature = iota
	DepthCount
	NeuronCount
	ParamCount
	ActivationCount
	LinearActivationCount
	ConvActivationCount
	NormActivationCount
	NonlinearActivationCount
	DropoutActivationCount
	AttentionActivationCount
	LargestLayerCount
	ForwardMACs
	SampleElementCount
	SampleCount
	BatchSize
	ElementSize
	WorkerCount
	MeanGPUBusy
	MeanMemBusy
	MeanSMActive
	MeanSMOccupancy
	MeanDRAMActive
	MeanTensorActive
	MeanCPUBusy
	MeanPowerWatts
	PeakGPUBusy
	PeakMemory
	MedianStepTime
	BusyPower

	// FeatureCount is the number of features.
	FeatureCount int = iota
)

// FeatureInfo describes one feature.
type FeatureInfo struct {
	// Name is stable and used in files.
	Name string
	// Unit is an SI unit, "1" for a ratio, "count" for a number of things.
	Unit string
	// Lo and Hi bound the values; Hi 0 means unbounded.
	Lo, Hi float64
	// Doc says what it is and where it comes from.
	Doc string
}

// Info returns the description of f, and a zero FeatureInfo for an index that
// is none.
func (f Feature) Info() FeatureInfo {
	if int(f) >= FeatureCount {
		return FeatureInfo{}
	}
	return featureTable[f]
}

// String returns the feature's name.
func (f Feature) String() string { return f.Info().Name }

//nolint:gochecknoglobals // read-only description of the features
var featureTable = [FeatureCount]FeatureInfo{
	LayerCount:               {"layers", "count", 0, 0, "leaves of the model"},
	DepthCount:               {"depth", "count", 0, 0, "leaves that hold parameters"},
	NeuronCount:              {"neurons", "count", 0, 0, "output units of all layers"},
	ParamCount:               {"params", "count", 0, 0, "trained parameters"},
	ActivationCount:          {"activations", "count", 0, 0, "output elements of all layers for one sample"},
	LinearActivationCount:    {"linear_activations", "count", 0, 0, "those of dense layers"},
	ConvActivationCount:      {"conv_activations", "count", 0, 0, "those of convolutions"},
	NormActivationCount:      {"norm_activations", "count", 0, 0, "those of normalisations"},
	NonlinearActivationCount: {"nonlinear_activations", "count", 0, 0, "those of element-wise non-linearities"},
	DropoutActivationCount:   {"dropout_activations", "count", 0, 0, "those of dropout"},
	AttentionActivationCount: {"attention_activations", "count", 0, 0, "those of attention scores and mixes"},
	LargestLayerCount:        {"largest_layer", "count", 0, 0, "output elements of the largest layer for one sample"},
	ForwardMACs:              {"forward_macs", "count", 0, 0, "multiply-adds of one sample's forward pass"},
	SampleElementCount:       {"sample_elements", "count", 0, 0, "input elements of one sample"},
	SampleCount:              {"dataset_samples", "count", 0, 0, "samples in one epoch"},
	BatchSize:                {"batch", "count", 1, 0, "samples per step and GPU"},
	ElementSize:              {"bytes_per_element", "B", 2, 4, "size of one activation element in the chosen precision"},
	WorkerCount:              {"workers", "count", 0, 0, "data-loader processes"},
	MeanGPUBusy:              {"mean_gpu_busy", "1", 0, 1, "share of time with a kernel resident, alone"},
	MeanMemBusy:              {"mean_mem_busy", "1", 0, 1, "share of time device memory was touched, alone"},
	MeanSMActive:             {"mean_sm_active", "1", 0, 1, "share of SMs with a warp resident, alone"},
	MeanSMOccupancy:          {"mean_sm_occupancy", "1", 0, 1, "resident warps over the most that fit, alone"},
	MeanDRAMActive:           {"mean_dram_active", "1", 0, 1, "share of cycles the memory interface moved data, alone"},
	MeanTensorActive:         {"mean_tensor_active", "1", 0, 1, "share of cycles the tensor pipe was active, alone"},
	MeanCPUBusy:              {"mean_cpu_busy", "1", 0, 1, "share of the CPU allotment in use, alone"},
	MeanPowerWatts:           {"mean_power", "W", 0, 0, "board power, alone"},
	PeakGPUBusy:              {"peak_gpu_busy", "1", 0, 1, "largest sample of GPU busy, alone"},
	PeakMemory:               {"peak_memory", "B", 0, 0, "largest device memory in use, alone"},
	MedianStepTime:           {"median_step_time", "s", 0, 0, "duration of one training step, alone"},
	BusyPower:                {"busy_power", "1", 0, 2, "mean board power over the board's limit, alone"},
}

// FeatureByName finds a feature by its stable name.
func FeatureByName(name string) (Feature, bool) {
	for f := range featureTable {
		if featureTable[f].Name == name {
			return Feature(f), true
		}
	}
	return 0, false
}
