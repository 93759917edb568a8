package profile

import (
	"errors"
	"fmt"
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
	if err := errors.Join(p.describe(), p.observe(trace)); err != nil {
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
	}
	if len(s.Model.Layers) == 0 {
		return errors.Join(errs...)
	}
	var byKind [LayerKinds]int64
	var largest int64
	for i := range s.Model.Layers {
		l := &s.Model.Layers[i]
		byKind[l.Kind] += l.Activations
		largest = max(largest, l.Activations)
	}
	for _, c := range []struct {
		feature Feature
		count   int64
	}{
		{LayerCount, int64(len(s.Model.Layers))},
		{DepthCount, int64(s.Model.Depth())},
		{NeuronCount, s.Model.Neurons()},
		{ParamCount, s.Model.Params()},
		{ActivationCount, s.Model.Activations()},
		{LinearActivationCount, byKind[Linear]},
		{ConvActivationCount, byKind[Conv]},
		{NormActivationCount, byKind[Norm]},
		{NonlinearActivationCount, byKind[Activation]},
		{DropoutActivationCount, byKind[Dropout]},
		{AttentionActivationCount, byKind[Attention]},
		{LargestLayerCount, largest},
	} {
		errs = append(errs, p.Vector.Set(c.feature, float64(c.count)))
	}
	if macs, ok := s.Model.MACs(); ok {
		errs = append(errs, p.Vector.Set(ForwardMACs, float64(macs)))
	}
	return errors.Join(errs...)
}

func (p *Profile) setOpt(f Feature, o Opt[int64]) error {
	if n, ok := o.Get(); ok {
		return p.Vector.Set(f, float64(n))
	}
	return nil
}

// ElementBytes returns the size of one activation element in bytes: 4 for FP32
// and TF32, 2 for the 16-bit formats and for mixed precision.
func (p Precision) ElementBytes() float64 {
	switch p {
	case Mixed, BF16, FP16:
		return 2
	default:
		return 4
	}
}
