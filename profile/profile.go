package profile

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Profile is everything known of one task on one kind of GPU. Predictors and
// packers take it by pointer and never modify it.
type Profile struct {
	// Spec is what the task is.
	Spec Spec `json:"spec"`
	// GPU is the product the observed features refer to.
	GPU GPUModel `json:"gpu"`
	// Vector holds the features of both.
	Vector Vector `json:"vector"`
}

// New describes a task by its specification and by what was observed while it
// ran alone on gpu. An empty trace is fine: then all observed features are
// missing. The zero GPUModel is fine too: then features that need its data
// sheet are missing.
//
// It returns an error that names the field for an invalid Spec, for a ratio
// that is not in [0, 1], and for a number that is negative or not finite.
// O(layers + samples log samples).
func New(spec Spec, trace Trace, gpu GPUModel) (Profile, error) {
	if err := spec.Validate(); err != nil {
		return Profile{}, err
	}
	p := Profile{Spec: spec, GPU: gpu}
	if err := errors.Join(p.describe(), p.observe(trace), p.derive()); err != nil {
		return Profile{}, fmt.Errorf("profile: task %q: %w", spec.Model.Name, err)
	}
	return p, nil
}

// describe fills the features that the specification gives. Without layers
// nothing about the model is known; zero would be a lie.
func (p *Profile) describe() error {
	s := &p.Spec
	errs := []error{
		p.Vector.Set(BatchSize, float64(s.Training.BatchSize)),
		p.Vector.Set(ElementSize, s.Training.Precision.ElementBytes()),
		p.Vector.Set(WorkerCount, float64(s.Training.Workers)),
		p.setOpt(SampleElementCount, s.Dataset.SampleElements),
		p.setOpt(SampleCount, s.Dataset.Samples),
		p.Vector.Set(OptimizerStates, float64(s.Training.Optimizer.StateElements())),
		p.Vector.Set(Checkpointed, 0),
		p.Vector.Set(GPUCount, float64(max(1, s.Training.GPUs))),
	}
	if s.Training.Checkpointing {
		errs = append(errs, p.Vector.Set(Checkpointed, 1))
	}
	samples, okSamples := s.Dataset.Samples.Get()
	size, okSize := s.Dataset.SampleBytes.Get()
	if okSamples && okSize {
		errs = append(errs, p.Vector.Set(DatasetBytes, float64(samples)*float64(size)))
	}
	if len(s.Model.Layers) > 0 {
		errs = append(errs, p.describeModel())
	}
	return errors.Join(errs...)
}

// featureCount is the value of a feature and the counts of layers that it rests on.
type featureCount struct {
	feature Feature
	count   float64
	needs   Counts
}

// describeModel fills the counts of the layers; what one of them does not tell
// is missing.
func (p *Profile) describeModel() error {
	m := &p.Spec.Model
	var layers, acts, params [LayerKinds]int64
	var neurons [LayerKinds]float64 // their sum alone is not bounded by Validate
	var largest, kept int64
	var unknown [LayerKinds]Counts
	all := m.Unknown()
	if _, known := m.Activations(); !known {
		all |= ActivationCounts
	}
	for i := range m.Layers {
		l := &m.Layers[i]
		unknown[l.Kind] |= l.Unknown | all&ActivationCounts
		layers[l.Kind]++
		acts[l.Kind] += l.Activations
		params[l.Kind] += l.Params
		neurons[l.Kind] += float64(l.Neurons)
		largest = max(largest, l.Activations)
		if !l.InPlace {
			kept += l.Activations
		}
	}
	var errs []error
	totalNeurons, _ := m.Neurons()
	totalActs, _ := m.Activations()
	t := &p.Spec.Training
	for _, c := range []featureCount{
		{LayerCount, float64(len(m.Layers)), 0},
		{DepthCount, float64(m.Depth()), ParamCounts},
		{NeuronCount, float64(totalNeurons), NeuronCounts},
		{ParamCount, float64(m.Params()), ParamCounts},
		{TrainableParamCount, float64(m.Trainable()), ParamCounts},
		{ActivationCount, float64(totalActs), ActivationCounts},
		{LargestLayerCount, float64(largest), ActivationCounts},
		{ActivationBytes, float64(kept) * float64(t.BatchSize) * t.Precision.ElementBytes(), ActivationCounts},
	} {
		if all&c.needs == 0 {
			errs = append(errs, p.Vector.Set(c.feature, c.count))
		}
	}
	for _, k := range byKind {
		for _, c := range []featureCount{
			{k.layers, float64(layers[k.kind]), 0},
			{k.activations, float64(acts[k.kind]), ActivationCounts},
			{k.params, float64(params[k.kind]), ParamCounts},
			{k.neurons, neurons[k.kind], NeuronCounts},
		} {
			if unknown[k.kind]&c.needs == 0 {
				errs = append(errs, p.setIf(c.feature, c.count))
			}
		}
	}
	if macs, ok := m.MACs(); ok {
		errs = append(errs, p.Vector.Set(ForwardMACs, float64(macs)))
	}
	return errors.Join(errs...)
}

// byKind names the features that count the layers of one kind.
//
//nolint:gochecknoglobals // read-only table
var byKind = []struct {
	kind                                 LayerKind
	layers, activations, params, neurons Feature
}{
	{Linear, LinearLayerCount, LinearActivationCount, LinearParamCount, LinearNeuronCount},
	{Conv, ConvLayerCount, ConvActivationCount, ConvParamCount, ConvNeuronCount},
	{Norm, NormLayerCount, NormActivationCount, NormParamCount, noFeature},
	{Activation, NonlinearLayerCount, NonlinearActivationCount, noFeature, noFeature},
	{Dropout, DropoutLayerCount, DropoutActivationCount, noFeature, noFeature},
	{Pool, PoolLayerCount, noFeature, noFeature, noFeature},
	{Embedding, EmbeddingLayerCount, noFeature, EmbeddingParamCount, noFeature},
	{Attention, AttentionLayerCount, AttentionActivationCount, noFeature, noFeature},
	{Recurrent, RecurrentLayerCount, noFeature, RecurrentParamCount, noFeature},
}

func (p *Profile) setOpt(f Feature, o Opt[int64]) error {
	if n, ok := o.Get(); ok {
		return p.Vector.Set(f, float64(n))
	}
	return nil
}

// Solo is what was seen of a task that ran alone on a GPU, as one has it from a
// dashboard or from nvidia-smi: the short way to a [Profile]. Shares are in [0, 1], not
// per cent; what was not seen is missing. All but Name and GPU may be.
type Solo struct {
	// Name is the network's, by which the task is recognised again; GPU the product, as
	// any tool names it, see [LookupGPU].
	Name, GPU string
	// GPUModel, where it is not nil, is the product instead of GPU: one that the catalogue
	// lacks. Its name is enough.
	GPUModel *GPUModel
	// Batch is samples a step; 0 means 1. Precision is the number format.
	Batch     int
	Precision Precision
	// SMActive and DRAMActive are shares of the SMs and of the memory interface in use, as
	// DCGM and NVML's GPM tell. GPUBusy and MemBusy are what nvidia-smi calls
	// utilization.gpu and utilization.memory.
	SMActive, DRAMActive, GPUBusy, MemBusy Opt[float64]
	// Memory is the peak of the device memory in use, PowerWatts the mean board power.
	Memory     Opt[Bytes]
	PowerWatts Opt[float64]
	// Throughput is samples a second, more than 0.
	Throughput Opt[float64]
	// Server is set for a task that answers requests; the shares are at its load.
	Server *Server
}

// Profile describes the task. It returns an error for an empty Name or GPU, for a GPU
// that the catalogue lacks, for a throughput of which a step would not take a nanosecond
// to a hundred years, and for what [New] refuses. O(1).
func (s Solo) Profile() (Profile, error) {
	fault := func(what string) (Profile, error) {
		return Profile{}, fmt.Errorf("profile: solo run of %q: %s", s.Name, what)
	}
	if s.Name == "" {
		return fault("the name is empty; by it the task is recognised again")
	}
	gpu, known := LookupGPU(s.GPU)
	switch {
	case s.GPUModel != nil:
		gpu = *s.GPUModel
	case s.GPU == "":
		return fault("the GPU is empty, want the product's name as nvidia-smi prints it")
	case !known:
		return fault(fmt.Sprintf("GPU is %q, which the catalogue lacks: give GPUModel, or use New", s.GPU))
	}
	spec := Spec{Model: Model{Name: s.Name}, Training: Training{BatchSize: cmp.Or(s.Batch, 1), Precision: s.Precision}, Server: s.Server}
	seen := Sample{
		SMActive: s.SMActive, DRAMActive: s.DRAMActive, GPUBusy: s.GPUBusy, MemBusy: s.MemBusy, MemUsed: s.Memory, PowerWatts: s.PowerWatts,
	}
	if rate, ok := s.Throughput.Get(); ok {
		const year = 365 * 24 * time.Hour
		step := float64(spec.Training.BatchSize) / rate * float64(time.Second)
		if !(rate > 0 && step >= 1 && step <= float64(100*year)) {
			return fault(fmt.Sprintf("throughput is %v samples a second, want more than 0 and such that a step takes 1 ns to 100 years", rate))
		}
		seen.StepTime = Some(time.Duration(step))
	}
	return New(spec, Trace{Samples: []Sample{seen}}, gpu)
}
