package profile

import "errors"

// derive fills the features that follow from others and from the data sheet of
// the GPU. What one of their parts is missing for is missing.
func (p *Profile) derive() error {
	errs := []error{p.deriveWork()}
	v, g := &p.Vector, p.GPU.Figures()
	if watts, ok := v.Get(MeanPowerWatts); ok && g.PowerWatts > 0 {
		errs = append(errs, v.Set(BusyPower, min(2, watts/g.PowerWatts)))
	}
	if peak, ok := v.Get(PeakMemory); ok && g.Memory > 0 {
		errs = append(errs, v.Set(MemoryShare, min(2, peak/float64(g.Memory))))
	}
	if active, ok := v.Get(MeanDRAMActive); ok && g.BandwidthBytesPerSec > 0 {
		errs = append(errs, v.Set(DRAMTraffic, active*g.BandwidthBytesPerSec))
	}
	return errors.Join(errs...)
}

// deriveWork fills operations, bytes moved and their times on the GPU. A
// multiply-add is two operations; the backward pass takes twice the forward
// pass, and recomputation one more forward pass (Kaplan et al. 2020, section
// 2.1, https://arxiv.org/abs/2001.08361):
//
//	passes = 1 (inference), 3 (training), 4 (training with checkpointing)
//	FLOPs  = 2 * MACs * batch * passes
//	bytes  = passes * (parameters * element size + activation bytes)
func (p *Profile) deriveWork() error {
	v, g := &p.Vector, p.GPU.Figures()
	macs, ok := v.Get(ForwardMACs)
	acts, okToo := v.Get(ActivationBytes)
	params, okParams := v.Get(ParamCount)
	if !ok || !okToo || !okParams {
		return nil
	}
	t := &p.Spec.Training
	passes := t.passes()
	flops := 2 * macs * float64(t.BatchSize) * passes
	bytes := passes * (params*t.Precision.ElementBytes() + acts)
	errs := []error{v.Set(StepFLOPs, flops)}
	if bytes > 0 {
		errs = append(errs, v.Set(ArithmeticIntensity, flops/bytes))
	}
	if g.BandwidthBytesPerSec > 0 {
		errs = append(errs, v.Set(BandwidthTime, bytes/g.BandwidthBytesPerSec))
	}
	if rate := g.Rate(t.Precision); rate > 0 {
		errs = append(errs, v.Set(ComputeTime, flops/rate))
		if step, ok := v.Get(MedianStepTime); ok {
			errs = append(errs, v.Set(FLOPShare, min(2, flops/step/rate)))
		}
	}
	return errors.Join(errs...)
}
