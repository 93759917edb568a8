package predict

import (
	"math"

	"example.com/colloc/profile"
)

// useFeatures is the number of columns of the utilisation model.
const useFeatures = 22

// kernelLaunch is what one small kernel costs from launch to end, seconds; it
// separates tasks that wait for the CPU from tasks that fill the GPU.
const kernelLaunch = 5e-6

// describeUse fills the columns of the utilisation model: sizes, shares by
// kind, and the three times that bound a training step on gpu,
//
//	memory  = bytes of parameters, optimiser state and activations / bandwidth
//	compute = 6 × multiply-adds × batch / peak rate
//	launch  = kernels × 5 µs
//
// O(layers), no allocation.
func describeUse(x *[useFeatures]float64, spec *profile.Spec, gpu *profile.GPUModel) {
	var f footprint
	f.measure(spec)
	batch := float64(spec.Training.BatchSize)
	weighted, macs := weightedLayers(spec.Model.Layers)
	outputs, layers := max(1, f.outputs), max(1, f.layers)
	params := f.weights / 4
	memory := (3*f.kept + 3*f.masks + 2*(f.weights+f.grads) + 2*f.state) / gpu.BandwidthBytesPerSec
	compute := 6 * macs * batch / peakRate(spec.Training.Precision, gpu)
	launch := kernelLaunch * (4*layers + 4*weighted)
	*x = [useFeatures]float64{
		math.Log1p(batch), math.Log1p(params), math.Log1p(outputs), math.Log1p(outputs * batch),
		math.Log1p(f.largestElements * batch), math.Log1p(f.transitElements * batch),
		math.Log1p(layers), math.Log1p(f.convs), math.Log1p(params / max(1, weighted)), math.Log1p(outputs * batch / layers),
		f.byKind[profile.Linear] / outputs, f.byKind[profile.Conv] / outputs, f.byKind[profile.Norm] / outputs,
		f.byKind[profile.Activation] / outputs, f.byKind[profile.Dropout] / outputs, f.byKind[profile.OtherLayer] / outputs,
		f.largestElements / outputs, f.keptElements / outputs,
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
