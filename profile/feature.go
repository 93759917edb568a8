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

// FeatureByName finds a feature by its stable name.
func FeatureByName(name string) (Feature, bool) {
	for f := range featureTable {
		if featureTable[f].Name == name {
			return Feature(f), true
		}
	}
	return 0, false
}
