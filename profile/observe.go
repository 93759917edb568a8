package profile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// observe fills the features that the trace gives: means weighted by each
// sample's window, peaks, and the median step time. A counter that no sample
// has leaves its feature missing.
func (p *Profile) observe(trace Trace) error {
	var errs []error
	for _, m := range []struct {
		feature Feature
		of      func(*Sample) Opt[float64]
	}{
		{MeanGPUBusy, func(s *Sample) Opt[float64] { return s.GPUBusy }},
		{MeanMemBusy, func(s *Sample) Opt[float64] { return s.MemBusy }},
		{MeanSMActive, func(s *Sample) Opt[float64] { return s.SMActive }},
		{MeanSMOccupancy, func(s *Sample) Opt[float64] { return s.SMOccupancy }},
		{MeanDRAMActive, func(s *Sample) Opt[float64] { return s.DRAMActive }},
		{MeanTensorActive, func(s *Sample) Opt[float64] { return s.TensorActive }},
		{MeanCPUBusy, func(s *Sample) Opt[float64] { return s.CPUBusy }},
		{MeanPowerWatts, func(s *Sample) Opt[float64] { return s.PowerWatts }},
	} {
		errs = append(errs, p.setMean(m.feature, trace.Samples, m.of))
	}
	errs = append(errs, p.observePeaks(trace.Samples), p.observeSteps(trace.Samples))
	if watts, ok := p.Vector.Get(MeanPowerWatts); ok && p.GPU.PowerWatts > 0 {
		errs = append(errs, p.Vector.Set(BusyPower, min(2, watts/p.GPU.PowerWatts)))
	}
	return errors.Join(errs...)
}

// setMean stores the mean of one counter, each sample weighted by its window;
// instants count as one second.
func (p *Profile) setMean(f Feature, samples []Sample, of func(*Sample) Opt[float64]) error {
	var sum, weight float64
	for i := range samples {
		x, ok := of(&samples[i]).Get()
		if !ok {
			continue
		}
		var one Vector
		if err := one.Set(f, x); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		w := samples[i].Window.Seconds()
		if w < 0 {
			return fmt.Errorf("sample %d: window is %v, want 0 or more", i, samples[i].Window)
		}
		if w == 0 {
			w = 1
		}
		sum, weight = sum+float64(x*w), weight+w
	}
	if weight == 0 {
		return nil
	}
	mean := sum / weight
	if hi := f.Info().Hi; hi > 0 {
		mean = math.Min(mean, hi) // rounding of the sum may pass the bound by an ulp
	}
	return p.Vector.Set(f, mean)
}

func (p *Profile) observePeaks(samples []Sample) error {
	var errs []error
	for i := range samples {
		s := &samples[i]
		if used, ok := s.MemUsed.Get(); ok {
			errs = append(errs, p.Vector.Set(PeakMemory, max(p.Vector.Or(PeakMemory, 0), float64(used))))
			if used < 0 {
				errs = append(errs, fmt.Errorf("sample %d: memory used is %d bytes", i, int64(used)))
			}
		}
		if busy, ok := s.GPUBusy.Get(); ok {
			errs = append(errs, p.Vector.Set(PeakGPUBusy, max(p.Vector.Or(PeakGPUBusy, 0), busy)))
		}
	}
	return errors.Join(errs...)
}

func (p *Profile) observeSteps(samples []Sample) error {
	var steps []time.Duration
	for i := range samples {
		step, ok := samples[i].StepTime.Get()
		if !ok {
			continue
		}
		if step <= 0 {
			return fmt.Errorf("sample %d: step time is %v, want more than 0", i, step)
		}
		steps = append(steps, step)
	}
	if len(steps) == 0 {
		return nil
	}
	slices.SortFunc(steps, cmp.Compare[time.Duration])
	return p.Vector.Set(MedianStepTime, steps[(len(steps)-1)/2].Seconds())
}
