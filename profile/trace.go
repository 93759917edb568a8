package profile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Sample is what was seen of one GPU, or of one task on it, during a window.
// Ratios are in [0, 1]; whatever the source could not tell is missing.
type Sample struct {
	// At is the end of the window.
	At time.Time `json:"at,omitzero"`
	// Window is how long the averages below cover; 0 means an instant.
	Window time.Duration `json:"window,omitempty"`
	// SMActive is the mean share of SMs with at least one warp resident.
	SMActive Opt[float64] `json:"sm_active,omitzero"`
	// SMOccupancy is resident warps over the most that fit.
	SMOccupancy Opt[float64] `json:"sm_occupancy,omitzero"`
	// TensorActive is the share of cycles the tensor pipe was active.
	TensorActive Opt[float64] `json:"tensor_active,omitzero"`
	// DRAMActive is the share of cycles the device memory interface moved data.
	DRAMActive Opt[float64] `json:"dram_active,omitzero"`
	// GPUBusy is the share of time with at least one kernel resident: what
	// nvidia-smi calls utilization.gpu. It is not SM use.
	GPUBusy Opt[float64] `json:"gpu_busy,omitzero"`
	// MemBusy is the share of time device memory was read or written: what
	// nvidia-smi calls utilization.memory. It is not capacity.
	MemBusy Opt[float64] `json:"mem_busy,omitzero"`
	// FP32Active is the share of cycles the FP32 pipe was active.
	FP32Active Opt[float64] `json:"fp32_active,omitzero"`
	// CPUBusy is the share of the task's CPU allotment in use.
	CPUBusy Opt[float64] `json:"cpu_busy,omitzero"`
	// MemUsed is the device memory in use.
	MemUsed Opt[Bytes] `json:"mem_used,omitzero"`
	// PowerWatts is the board power.
	PowerWatts Opt[float64] `json:"power_watts,omitzero"`
	// EnergyJoules is the energy since an arbitrary start; it only grows.
	EnergyJoules Opt[float64] `json:"energy_joules,omitzero"`
	// SMClockMHz is the SM clock.
	SMClockMHz Opt[float64] `json:"sm_clock_mhz,omitzero"`
	// TempCelsius is the GPU temperature.
	TempCelsius Opt[float64] `json:"temp_celsius,omitzero"`
	// PCIeBytesPerSec is PCIe traffic, both directions together.
	PCIeBytesPerSec Opt[float64] `json:"pcie_bytes_per_sec,omitzero"`
	// StepTime is the duration of one training step (one batch).
	StepTime Opt[time.Duration] `json:"step_time,omitzero"`
}

// Trace is a series of samples of one task alone on one GPU, in order of time.
type Trace struct {
	// Samples are in order of time.
	Samples []Sample `json:"samples"`
	// Labels say where the trace came from: job, pod, device, file.
	Labels map[string]string `json:"labels,omitempty"`
	// Warnings are what a reader had to leave out, with line numbers.
	Warnings []error `json:"-"`
}

// noFeature stands where a counter has no feature of a kind.
const noFeature = Feature(math.MaxUint8)

// counter is one series of a trace and the features made of it.
type counter struct {
	mean, p95, peak Feature
	of              func(*Sample) Opt[float64]
}

//nolint:gochecknoglobals // read-only table
var counters = []counter{
	{MeanGPUBusy, P95GPUBusy, PeakGPUBusy, func(s *Sample) Opt[float64] { return s.GPUBusy }},
	{MeanMemBusy, noFeature, noFeature, func(s *Sample) Opt[float64] { return s.MemBusy }},
	{MeanSMActive, P95SMActive, PeakSMActive, func(s *Sample) Opt[float64] { return s.SMActive }},
	{MeanSMOccupancy, P95SMOccupancy, PeakSMOccupancy, func(s *Sample) Opt[float64] { return s.SMOccupancy }},
	{MeanDRAMActive, P95DRAMActive, PeakDRAMActive, func(s *Sample) Opt[float64] { return s.DRAMActive }},
	{MeanTensorActive, P95TensorActive, PeakTensorActive, func(s *Sample) Opt[float64] { return s.TensorActive }},
	{MeanCPUBusy, noFeature, noFeature, func(s *Sample) Opt[float64] { return s.CPUBusy }},
	{MeanPowerWatts, P95PowerWatts, PeakPowerWatts, func(s *Sample) Opt[float64] { return s.PowerWatts }},
	{MeanPCIe, P95PCIe, PeakPCIe, func(s *Sample) Opt[float64] { return s.PCIeBytesPerSec }},
	{MeanMemory, P95Memory, PeakMemory, memUsed},
}

func memUsed(s *Sample) Opt[float64] {
	if used, ok := s.MemUsed.Get(); ok {
		return Some(float64(used))
	}
	return Opt[float64]{}
}

// observe fills the features that the trace gives. Means and percentiles are
// weighted by time and leave the warm-up out; peaks are those of all samples. A
// counter that no sample has leaves its features missing.
func (p *Profile) observe(trace Trace) error {
	weights, err := sampleWeights(trace.Samples)
	if err != nil {
		return err
	}
	warm := warmUp(trace.Samples, weights)
	var errs []error
	for i := range counters {
		errs = append(errs, p.summarise(&counters[i], trace.Samples, weights, warm))
	}
	return errors.Join(append(errs, p.observeSteps(trace.Samples))...)
}

// sampleWeights returns the seconds that each sample stands for: its window, or
// for an instant the time since the sample before it, at most three times the
// median of those, so that a hole in the log does not count as what stood
// before or behind it. An instant without times counts as one second.
func sampleWeights(samples []Sample) ([]float64, error) {
	weights := make([]float64, len(samples))
	var gaps []float64
	for i := range samples {
		s := &samples[i]
		if s.Window < 0 {
			return nil, fmt.Errorf("sample %d: window is %v, want 0 or more", i, s.Window)
		}
		if s.Window == 0 && i > 0 && !s.At.IsZero() && !samples[i-1].At.IsZero() {
			if gap := s.At.Sub(samples[i-1].At).Seconds(); gap > 0 {
				weights[i] = gap
				gaps = append(gaps, gap)
			}
		}
	}
	typical := 1.0
	if len(gaps) > 0 {
		slices.Sort(gaps)
		typical = gaps[(len(gaps)-1)/2]
	}
	for i := range samples {
		switch {
		case samples[i].Window > 0:
			weights[i] = samples[i].Window.Seconds()
		case weights[i] == 0:
			weights[i] = typical
		default:
			weights[i] = min(weights[i], 3*typical)
		}
	}
	return weights, nil
}

const (
	warmUpSamples = 10  // a shorter trace has no warm-up
	warmUpShare   = 0.2 // most of the time that counts as warm-up
)

// warmUp returns the number of samples at the start before the task worked:
// those before SM active, else GPU busy, else power first reached half of its
// median. It is at most a fifth of the time, and 0 for a trace of less than ten
// samples.
func warmUp(samples []Sample, weights []float64) int {
	if len(samples) < warmUpSamples {
		return 0
	}
	for _, of := range []func(*Sample) Opt[float64]{
		func(s *Sample) Opt[float64] { return s.SMActive },
		func(s *Sample) Opt[float64] { return s.GPUBusy },
		func(s *Sample) Opt[float64] { return s.PowerWatts },
	} {
		var values []float64
		for i := range samples {
			if x, ok := of(&samples[i]).Get(); ok {
				values = append(values, x)
			}
		}
		if len(values) < warmUpSamples {
			continue
		}
		slices.Sort(values)
		return firstAbove(samples, weights, of, values[(len(values)-1)/2]/2)
	}
	return 0
}

// firstAbove returns the first sample that reaches a level, or the first one
// beyond the share of time that may be warm-up.
func firstAbove(samples []Sample, weights []float64, of func(*Sample) Opt[float64], level float64) int {
	var total, passed float64
	for _, w := range weights {
		total += w
	}
	for i := range samples {
		passed += weights[i]
		if x, ok := of(&samples[i]).Get(); ok && x >= level || passed > warmUpShare*total {
			return i
		}
	}
	return 0
}

// weighted is a value with the seconds it stands for.
type weighted struct{ value, seconds float64 }

// summarise stores mean, 95th percentile and peak of one counter.
func (p *Profile) summarise(c *counter, samples []Sample, weights []float64, warm int) error {
	var steady []weighted
	var sum, weight, peak float64
	known := false
	for i := range samples {
		x, ok := c.of(&samples[i]).Get()
		if !ok {
			continue
		}
		if err := new(Vector).Set(c.mean, x); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		known, peak = true, max(peak, x)
		if i >= warm {
			sum, weight = sum+float64(x*weights[i]), weight+weights[i]
			steady = append(steady, weighted{x, weights[i]})
		}
	}
	if !known {
		return nil
	}
	if len(steady) == 0 { // seen during warm-up only
		return p.setIf(c.peak, peak)
	}
	mean := sum / weight
	if hi := c.mean.Info().Hi; hi > 0 {
		mean = math.Min(mean, hi) // rounding of the sum may pass the bound by an ulp
	}
	err := errors.Join(p.setIf(c.mean, mean), p.setIf(c.peak, peak))
	if c.p95 == noFeature {
		return err
	}
	return errors.Join(err, p.setIf(c.p95, percentile(steady, weight, 0.95)))
}

// setIf stores a value unless there is no such feature.
func (p *Profile) setIf(f Feature, x float64) error {
	if f == noFeature {
		return nil
	}
	return p.Vector.Set(f, x)
}

// percentile returns the least value at or below which the share q of all time
// lies; it sorts its argument.
func percentile(list []weighted, total, q float64) float64 {
	slices.SortFunc(list, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	passed := 0.0
	for _, x := range list {
		if passed += x.seconds; passed >= q*total {
			return x.value
		}
	}
	return list[len(list)-1].value
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
	slices.Sort(steps)
	return p.Vector.Set(MedianStepTime, steps[(len(steps)-1)/2].Seconds())
}
