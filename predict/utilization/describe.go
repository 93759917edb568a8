package utilization

import (
	"math"

	"example.com/colloc/predict/internal/footprint"
	"example.com/colloc/profile"
)

// featureCount is the number of columns of the utilisation model.
const featureCount = 22

// kernelLaunch is what one small kernel costs from launch to end, seconds; it
// separates tasks that wait for the CPU from tasks that fill the GPU.
const kernelLaunch = 5e-6

// describe fills the columns of the utilisation model: sizes, shares by
// kind, and the three times that bound a training step on gpu,
//
//	memory  = bytes of parameters, optimiser state and activations / bandwidth
//	compute = 6 × multiply-adds × batch / peak rate
//	launch  = kernels × 5 µs
//
// O(layers), no allocation.
func describe(x *[featureCount]float64, spec *profile.Spec, gpu *profile.GPUModel) {
	var f footprint.Footprint
	f.Measure(spec)
	batch := float64(spec.Training.BatchSize)
	weighted, macs := weightedLayers(spec.Model.Layers)
	outputs, layers := max(1, f.Outputs), max(1, f.Layers)
	params := f.Weights / 4
	memory := (3*f.Kept + 3*f.Masks + 2*(f.Weights+f.Grads) + 2*f.State) / gpu.BandwidthBytesPerSec
	compute := 6 * macs * batch / peakRate(spec.Training.Precision, gpu)
	launch := kernelLaunch * (4*layers + 4*weighted)
	*x = [featureCount]float64{
		math.Log1p(batch), math.Log1p(params), math.Log1p(outputs), math.Log1p(outputs * batch),
		math.Log1p(f.LargestElements * batch), math.Log1p(f.TransitElements * batch),
		math.Log1p(layers), math.Log1p(f.Convs), math.Log1p(params / max(1, weighted)), math.Log1p(outputs * batch / layers),
		f.ByKind[profile.Linear] / outputs, f.ByKind[profile.Conv] / outputs, f.ByKind[profile.Norm] / outputs,
		f.ByKind[profile.Activation] / outputs, f.ByKind[profile.Dropout] / outputs, f.ByKind[profile.OtherLayer] / outputs,
		f.LargestElements / outputs, f.KeptElements / outputs,
		math.Log(memory/launch + 1e-9), math.Log(compute/launch + 1e-9), math.Log(launch),
		math.Log1p(float64(spec.Dataset.SampleElements.Or(0)) * batch),
	}
}

// weightedLayers counts the layers with parameters and the multiply-adds of one
// sample; a layer that does not state its own does at least one a parameter.
func weightedLayers(all []profile.Layer) (weighted, macs float64) {
	for i := range all {
		l := &all[i]
		if l.Params > 0 {
			weighted++
		}
		if n, ok := l.MACs.Get(); ok {
			macs += float64(n)
		} else {
			macs += float64(l.Params)
		}
	}
	return weighted, macs
}

// peakRate is the arithmetic rate that a precision can reach, operations per
// second; FP32 where the product does not state another.
func peakRate(p profile.Precision, gpu *profile.GPUModel) float64 {
	rate := gpu.FP32
	switch p {
	case profile.TF32:
		rate = max(rate, gpu.TF32)
	case profile.Mixed, profile.BF16, profile.FP16:
		rate = max(rate, gpu.BF16)
	default:
	}
	return rate
}
