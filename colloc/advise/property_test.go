package advise_test

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/colloc/advise"
	"example.com/colloc/profile"
)

// drawOdd draws numbers that people and drivers get wrong.
func drawOdd(t *rapid.T, name string) float64 {
	return rapid.OneOf(
		rapid.Float64Range(0, 1), rapid.Float64(),
		rapid.SampledFrom([]float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64}),
	).Draw(t, name)
}

// drawProfile draws any profile, also one that profile.New would refuse.
func drawProfile(t *rapid.T) *profile.Profile {
	p := &profile.Profile{}
	for range rapid.IntRange(0, 6).Draw(t, "layers") {
		p.Spec.Model.Layers = append(p.Spec.Model.Layers, profile.Layer{
			Kind:        profile.LayerKind(rapid.IntRange(-1, profile.LayerKinds).Draw(t, "kind")),
			Params:      rapid.Int64Range(-1, 1e11).Draw(t, "params"),
			Activations: rapid.Int64Range(-1, 1e9).Draw(t, "activations"),
		})
	}
	if rapid.Bool().Draw(t, "sound") {
		for i := range p.Spec.Model.Layers {
			l := &p.Spec.Model.Layers[i]
			l.Kind, l.Params, l.Activations = max(0, min(l.Kind, 9)), max(0, l.Params), max(0, l.Activations)
		}
	}
	p.Spec.Training = profile.Training{
		BatchSize:     rapid.OneOf(rapid.IntRange(1, 512), rapid.Int()).Draw(t, "batch"),
		Precision:     profile.Precision(rapid.IntRange(-1, profile.Precisions).Draw(t, "precision")),
		Optimizer:     profile.Optimizer(rapid.IntRange(-1, profile.Optimizers).Draw(t, "optimizer")),
		Checkpointing: rapid.Bool().Draw(t, "checkpointing"),
		Workers:       rapid.IntRange(-1, 8).Draw(t, "workers"),
		GPUs:          rapid.IntRange(-1, 9).Draw(t, "gpus"),
	}
	for f := profile.Feature(0); int(f) < profile.FeatureCount; f++ {
		if rapid.Bool().Draw(t, "known") {
			_ = p.Vector.Set(f, drawOdd(t, f.String())) // what it refuses stays missing
		}
	}
	p.GPU = drawGPUModel(t)
	return p
}

func drawGPUModel(t *rapid.T) profile.GPUModel {
	if rapid.Bool().Draw(t, "catalogue") {
		return rapid.SampledFrom(profile.GPUs()).Draw(t, "product")
	}
	return profile.GPUModel{
		Name: "odd", Memory: profile.Bytes(rapid.Int64().Draw(t, "memory")), SMs: rapid.Int().Draw(t, "sms"),
		FP32: drawOdd(t, "fp32"), TF32: drawOdd(t, "tf32"), BF16: drawOdd(t, "bf16"), BandwidthBytesPerSec: drawOdd(t, "bandwidth"),
	}
}

// Property: whatever the profile and the options, there is an answer, every
// number in it is finite and possible, and it can be written as JSON.
func TestDiagnoseAnything(t *testing.T) {
	planner := priorPlanner(t)
	rapid.Check(t, func(t *rapid.T) {
		o := &advise.Options{
			Planner:   planner,
			Mechanism: profile.Mechanism(rapid.IntRange(-1, 5).Draw(t, "mechanism")),
			CPUs:      rapid.IntRange(-1, 100).Draw(t, "cpus"), MaxCopies: rapid.IntRange(-1, 1000).Draw(t, "copies"),
			MaxGPUs: rapid.OneOf(rapid.IntRange(-1, 64), rapid.Just(math.MaxInt)).Draw(t, "gpus"),
		}
		if rapid.Bool().Draw(t, "other GPU") {
			o.GPU = drawGPUModel(t)
		}
		d := advise.Diagnose(drawProfile(t), o)
		if (d.Bottleneck == 0) != (len(d.Findings) == 0) {
			t.Errorf("bottleneck %v with findings %v", d.Bottleneck, d.Findings)
		}
		for _, f := range d.Findings {
			for _, e := range f.Evidence {
				if !(e.Above && e.Value >= e.Threshold || !e.Above && e.Value < e.Threshold) {
					t.Errorf("%v: %v does not hold", f.Bottleneck, e)
				}
			}
		}
		for i, r := range d.Remedies {
			e := r.Throughput
			if !(e.Lo > 0 && e.Lo <= e.Value*(1+1e-12) && e.Value <= e.Hi*(1+1e-12) && !math.IsInf(e.Hi, 0)) || r.Count < 0 || r.Reserved < 0 {
				t.Errorf("remedy %d: %+v", i, r)
			}
		}
		if _, err := json.Marshal(d); err != nil {
			t.Errorf("%v: %+v", err, d)
		}
		_ = d.String()
	})
}
