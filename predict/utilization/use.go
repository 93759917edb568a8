package utilization

import (
	"math"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// SoloUse is how busy a task alone keeps a GPU; fractions in [0, 1], each with
// an interval. The names are those of [profile.Sample].
type SoloUse struct {
	SMActive    predict.Estimate `json:"sm_active"`
	SMOccupancy predict.Estimate `json:"sm_occupancy"`
	DRAMActive  predict.Estimate `json:"dram_active"`
	GPUBusy     predict.Estimate `json:"gpu_busy"`
}

// probeNoise is the assumed standard deviation of a mean over one minute of
// sampling against another minute of the same task: about what the speeds of
// identical jobs run at the same moment differ by in Lucid's data (0.027). A
// shorter probe is noisier by the square root of the time.
const (
	probeNoise  = 0.027
	probeMinute = 60.0
)

// Observed replaces predictions by what was measured. window is the length of
// the measurement in seconds: from a minute on the measured value stands; a
// shorter probe is averaged with the prediction, each weighted by the inverse of
// its variance. Quantities that the sample lacks stay predicted.
func (s SoloUse) Observed(seen *profile.Sample, window float64) SoloUse {
	if seen == nil || !(window > 0) {
		return s
	}
	for _, q := range []struct {
		e    *predict.Estimate
		seen profile.Opt[float64]
	}{{&s.SMActive, seen.SMActive}, {&s.SMOccupancy, seen.SMOccupancy}, {&s.DRAMActive, seen.DRAMActive}, {&s.GPUBusy, seen.GPUBusy}} {
		if v, ok := q.seen.Get(); ok && v >= 0 && v <= 1 {
			*q.e = observed(q.e, v, window)
		}
	}
	return s
}

// observed merges a measurement into a prediction.
func observed(e *predict.Estimate, v, window float64) predict.Estimate {
	const z = 1.645 // half of a 90 % interval in standard deviations
	noise := probeNoise * math.Sqrt(probeMinute/min(window, probeMinute))
	weight := 1.0
	if window < probeMinute {
		own := max(1e-3, (e.Hi-e.Lo)/(2*z))
		weight = own * own / (own*own + noise*noise)
		noise *= math.Sqrt(weight)
	}
	v = float64(weight*v) + float64((1-weight)*e.Value)
	return predict.Estimate{
		Value: v, Lo: max(0, v-z*noise), Hi: min(1, v+z*noise), Confidence: e.Confidence, Source: predict.Source{Kind: predict.Measured},
	}
}

// Fill stores the predictions in a task's features where nothing was measured,
// so that a task that never ran can be packed.
func (s SoloUse) Fill(v *profile.Vector) error {
	for _, q := range []struct {
		feature profile.Feature
		e       *predict.Estimate
	}{
		{profile.MeanSMActive, &s.SMActive},
		{profile.MeanSMOccupancy, &s.SMOccupancy},
		{profile.MeanDRAMActive, &s.DRAMActive},
		{profile.MeanGPUBusy, &s.GPUBusy},
	} {
		if _, known := v.Get(q.feature); known {
			continue
		}
		if err := v.Set(q.feature, q.e.Value); err != nil {
			return err
		}
	}
	return nil
}
