package footprint

import (
	"example.com/colloc/profile"
)

// Plausible is a check that costs nothing: a spec that passes is valid, one that
// does not is left to Validate, which can tell why.
func Plausible(spec *profile.Spec) bool {
	const most = profile.MaxCount / (1 << 12) // layers × most cannot pass MaxCount
	layers := spec.Model.Layers
	ok := len(layers) < 1<<12
	for i := range layers {
		l := &layers[i]
		macs := l.MACs.Or(0)
		ok = ok && l.Kind >= 0 && int(l.Kind) < profile.LayerKinds && l.Neurons >= 0 && l.Neurons <= most &&
			l.Params >= 0 && l.Params <= most && l.Activations >= 0 && l.Activations <= most && macs >= 0 && macs <= most &&
			l.Frozen >= 0 && l.Frozen <= l.Params && l.Unknown == 0
	}
	t := &spec.Training
	ok = ok && spec.Model.Family >= 0 && int(spec.Model.Family) < profile.Families &&
		t.BatchSize >= 1 && t.BatchSize <= profile.MaxBatch && t.Workers >= 0 && t.Workers < 1<<20 &&
		t.GPUs >= 0 && t.GPUs < 1<<20 && t.Precision >= 0 && int(t.Precision) < profile.Precisions &&
		t.Optimizer >= 0 && int(t.Optimizer) < profile.Optimizers &&
		t.Parallelism >= 0 && int(t.Parallelism) < profile.Parallelisms
	for _, n := range [...]int64{
		spec.Dataset.Samples.Or(0), spec.Dataset.SampleElements.Or(0), int64(spec.Dataset.SampleBytes.Or(0)),
		int64(spec.Traced.AfterForward.Or(0)), int64(spec.Traced.AfterBackward.Or(0)),
	} {
		ok = ok && n >= 0 && n <= profile.MaxCount
	}
	return ok
}
