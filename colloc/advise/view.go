package advise

import (
	"errors"
	"fmt"

	"example.com/colloc/colloc"
	"example.com/colloc/predict"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// view is a profile as the rules see it: options filled in, memory predicted.
type view struct {
	o        Options
	config   colloc.Config // of the Planner
	p        *profile.Profile
	gpu      profile.GPUModel
	total    profile.Bytes // of the GPU; 0 if unknown
	usable   profile.Bytes // after headroom
	memory   predict.Estimate
	reserved profile.Bytes // 0 if unknown
	scale    float64       // measured peak over predicted one
	warnings []string
}

// newView fills in what is missing. Only a Planner that cannot be made is an
// error.
func newView(p *profile.Profile, o *Options) (*view, error) {
	v := &view{o: *o, p: p, gpu: o.GPU, scale: 1}
	for _, f := range []struct {
		field *int
		value int
	}{{&v.o.CPUs, 8}, {&v.o.MaxCopies, 8}, {&v.o.MaxGPUs, 8}} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	v.o.MaxCopies, v.o.MaxGPUs = min(v.o.MaxCopies, colloc.LargestSet), min(v.o.MaxGPUs, 1<<16)
	if v.o.Mechanism <= profile.Exclusive || int(v.o.Mechanism) >= profile.Mechanisms {
		v.o.Mechanism = profile.TimeSlice
	}
	if v.gpu.Name == "" && v.gpu.Memory == 0 {
		v.gpu = p.GPU
	}
	if v.o.Planner == nil {
		planner, err := colloc.New(colloc.Config{})
		if err != nil {
			return nil, err
		}
		v.o.Planner = planner
	}
	v.config = v.o.Planner.Config()
	v.total = max(0, v.gpu.Memory)
	v.usable = colloc.Usable(v.total, v.config.Headroom.Or(0))
	v.predictMemory()
	return v, nil
}

func (v *view) warn(format string, args ...any) {
	v.warnings = append(v.warnings, fmt.Sprintf(format, args...))
}

// predictMemory asks what the task needs as it is.
func (v *view) predictMemory() {
	if v.total == 0 {
		v.warn("memory is not judged: the profile names no GPU; set Options.GPU")
	}
	estimate, reserved, err := v.o.Planner.Memory(colloc.Task{ID: "diagnosed", Profile: v.p})
	if err != nil {
		v.warn("memory is not judged: %v", err)
		return
	}
	if reserved == memory.Whole {
		v.warn("memory is not judged: the description does not tell what the task keeps in memory; give output shapes or the measured peak")
		return
	}
	v.memory, v.reserved = estimate, reserved
	peak, measured := v.p.Vector.Get(profile.PeakMemory)
	if !measured {
		return
	}
	predicted, err := v.config.Memory.Peak(&v.p.Spec, v.config.Host)
	if err == nil && predicted.Value > 0 {
		v.scale = max(0.1, min(10, peak/predicted.Value))
	}
}

// with predicts memory after a change of the training.
func (v *view) with(t profile.Training) (predict.Estimate, profile.Bytes, error) {
	spec := v.p.Spec
	spec.Training = t
	if len(spec.Model.Layers) == 0 {
		return predict.Estimate{}, 0, errors.New("the layers of the model are unknown")
	}
	spec.Traced = profile.Traced{} // was counted without the change
	m, host := v.config.Memory, v.config.Host
	estimate, err := m.Peak(&spec, host)
	if err != nil {
		return estimate, 0, err
	}
	reserved, err := m.Reserve(&spec, host, v.config.Risk)
	if err != nil {
		return estimate, 0, err
	}
	if reserved == memory.Whole {
		return estimate, 0, errors.New("the outputs of the model's layers are unknown")
	}
	for _, x := range []*float64{&estimate.Value, &estimate.Lo, &estimate.Hi} {
		*x *= v.scale
	}
	return estimate, profile.BytesOf(float64(reserved) * v.scale), nil
}

// share is the reservation over the GPU's memory.
func (v *view) share() (float64, bool) {
	if v.total == 0 || v.reserved == 0 {
		return 0, false
	}
	return float64(v.reserved) / float64(v.total), true
}

// sm is how much of the SMs the task keeps busy. Where only nvidia-smi's
// utilisation is known it bounds that from above: good enough to call it low,
// not to call it high.
func (v *view) sm() (feature profile.Feature, value float64, known bool) {
	if x, ok := v.p.Vector.Get(profile.MeanSMActive); ok {
		return profile.MeanSMActive, x, true
	}
	x, ok := v.p.Vector.Get(profile.MeanGPUBusy)
	return profile.MeanGPUBusy, x, ok
}

// gpuTime is the share of a step during which the GPU works.
func (v *view) gpuTime() float64 {
	busy, ok := v.p.Vector.Get(profile.MeanGPUBusy)
	if !ok {
		busy, ok = v.p.Vector.Get(profile.MeanSMActive)
	}
	if !ok || busy <= 0 {
		return 1
	}
	return busy
}
