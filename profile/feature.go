package profile

// VectorVersion is the version of the feature list. It grows by one whenever a
// feature is added, removed or changes its meaning; coefficients fitted on
// another version are refused.
//
// Version 2 appended the features from MeanMemory on; those of version 1 kept
// their indices and names. Version 3 appended TrainableParamCount, and leaves
// missing what a layer does not tell.
const VectorVersion = 3

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
	MeanMemory
	MeanPCIe
	P95GPUBusy
	P95SMActive
	P95SMOccupancy
	P95DRAMActive
	P95TensorActive
	P95Memory
	P95PowerWatts
	P95PCIe
	PeakSMActive
	PeakSMOccupancy
	PeakDRAMActive
	PeakTensorActive
	PeakPowerWatts
	PeakPCIe
	LinearLayerCount
	ConvLayerCount
	NormLayerCount
	NonlinearLayerCount
	DropoutLayerCount
	PoolLayerCount
	EmbeddingLayerCount
	AttentionLayerCount
	RecurrentLayerCount
	LinearParamCount
	ConvParamCount
	NormParamCount
	EmbeddingParamCount
	RecurrentParamCount
	LinearNeuronCount
	ConvNeuronCount
	ActivationBytes
	StepFLOPs
	ArithmeticIntensity
	OptimizerStates
	Checkpointed
	GPUCount
	DatasetBytes
	ComputeTime
	BandwidthTime
	MemoryShare
	DRAMTraffic
	FLOPShare
	TrainableParamCount
)

// FeatureCount is the number of features.
const FeatureCount int = int(TrainableParamCount) + 1

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

// FeatureByName finds a feature by its stable name.
func FeatureByName(name string) (Feature, bool) {
	for f := range featureTable {
		if featureTable[f].Name == name {
			return Feature(f), true
		}
	}
	return 0, false
}

//nolint:gochecknoglobals // read-only description of the features
var featureTable = [FeatureCount]FeatureInfo{
	LayerCount:               {"layers", "count", 0, 0, "leaves of the model"},
	DepthCount:               {"depth", "count", 0, 0, "leaves that hold parameters"},
	NeuronCount:              {"neurons", "count", 0, 0, "output units of all layers"},
	ParamCount:               {"params", "count", 0, 0, "parameters, frozen ones included"},
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
	MeanMemory:               {"mean_memory", "B", 0, 0, "device memory in use, alone"},
	MeanPCIe:                 {"mean_pcie", "B/s", 0, 0, "PCIe traffic, both directions, alone"},
	P95GPUBusy:               {"p95_gpu_busy", "1", 0, 1, "95th percentile of GPU busy over time, alone"},
	P95SMActive:              {"p95_sm_active", "1", 0, 1, "95th percentile of SM active, alone"},
	P95SMOccupancy:           {"p95_sm_occupancy", "1", 0, 1, "95th percentile of SM occupancy, alone"},
	P95DRAMActive:            {"p95_dram_active", "1", 0, 1, "95th percentile of DRAM active, alone"},
	P95TensorActive:          {"p95_tensor_active", "1", 0, 1, "95th percentile of tensor active, alone"},
	P95Memory:                {"p95_memory", "B", 0, 0, "95th percentile of device memory in use, alone"},
	P95PowerWatts:            {"p95_power", "W", 0, 0, "95th percentile of board power, alone"},
	P95PCIe:                  {"p95_pcie", "B/s", 0, 0, "95th percentile of PCIe traffic, alone"},
	PeakSMActive:             {"peak_sm_active", "1", 0, 1, "largest sample of SM active, alone"},
	PeakSMOccupancy:          {"peak_sm_occupancy", "1", 0, 1, "largest sample of SM occupancy, alone"},
	PeakDRAMActive:           {"peak_dram_active", "1", 0, 1, "largest sample of DRAM active, alone"},
	PeakTensorActive:         {"peak_tensor_active", "1", 0, 1, "largest sample of tensor active, alone"},
	PeakPowerWatts:           {"peak_power", "W", 0, 0, "largest sample of board power, alone"},
	PeakPCIe:                 {"peak_pcie", "B/s", 0, 0, "largest sample of PCIe traffic, alone"},
	LinearLayerCount:         {"linear_layers", "count", 0, 0, "dense layers"},
	ConvLayerCount:           {"conv_layers", "count", 0, 0, "convolutions"},
	NormLayerCount:           {"norm_layers", "count", 0, 0, "normalisations"},
	NonlinearLayerCount:      {"nonlinear_layers", "count", 0, 0, "element-wise non-linearities"},
	DropoutLayerCount:        {"dropout_layers", "count", 0, 0, "dropouts"},
	PoolLayerCount:           {"pool_layers", "count", 0, 0, "poolings"},
	EmbeddingLayerCount:      {"embedding_layers", "count", 0, 0, "embedding tables"},
	AttentionLayerCount:      {"attention_layers", "count", 0, 0, "attention scores and mixes"},
	RecurrentLayerCount:      {"recurrent_layers", "count", 0, 0, "recurrent layers"},
	LinearParamCount:         {"linear_params", "count", 0, 0, "parameters of dense layers"},
	ConvParamCount:           {"conv_params", "count", 0, 0, "parameters of convolutions"},
	NormParamCount:           {"norm_params", "count", 0, 0, "parameters of normalisations"},
	EmbeddingParamCount:      {"embedding_params", "count", 0, 0, "parameters of embedding tables"},
	RecurrentParamCount:      {"recurrent_params", "count", 0, 0, "parameters of recurrent layers"},
	LinearNeuronCount:        {"linear_neurons", "count", 0, 0, "output units of dense layers"},
	ConvNeuronCount:          {"conv_neurons", "count", 0, 0, "channels of convolutions"},
	ActivationBytes:          {"activation_bytes", "B", 0, 0, "outputs of all layers but in-place ones, times batch and element size"},
	StepFLOPs:                {"step_flops", "FLOP", 0, 0, "operations of one step: 6 x multiply-adds x batch, 2 x without training, 8 x with checkpointing"},
	ArithmeticIntensity:      {"arithmetic_intensity", "FLOP/B", 0, 0, "step_flops over bytes moved: passes x (parameters x element size + activation_bytes)"},
	OptimizerStates:          {"optimizer_states", "count", 0, 2, "state elements that the optimiser keeps for each parameter"},
	Checkpointed:             {"checkpointed", "1", 0, 1, "1 where activations are recomputed, else 0"},
	GPUCount:                 {"gpus", "count", 1, 0, "GPUs that the task wants at once"},
	DatasetBytes:             {"dataset_bytes", "B", 0, 0, "samples in one epoch times bytes of a sample"},
	ComputeTime:              {"compute_time", "s", 0, 0, "step_flops over the GPU's peak rate in the chosen precision"},
	BandwidthTime:            {"bandwidth_time", "s", 0, 0, "bytes moved in a step over the GPU's memory bandwidth"},
	MemoryShare:              {"memory_share", "1", 0, 2, "peak memory over the GPU's memory"},
	DRAMTraffic:              {"dram_traffic", "B/s", 0, 0, "mean DRAM active times the GPU's memory bandwidth"},
	FLOPShare:                {"flop_share", "1", 0, 2, "step_flops over median step time and peak rate"},
	TrainableParamCount:      {"trainable_params", "count", 0, 0, "parameters that the optimiser changes"},
}
