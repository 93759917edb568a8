package advise

import (
	"fmt"
	"slices"

	"example.com/colloc/profile"
)

const sourceShard = "Rajbhandari et al. 2020, ZeRO, doi:10.1109/SC41405.2020.00024; Shoeybi et al. 2019, Megatron-LM, arXiv:1909.08053"

// ladder is what to try, in this order, for a task that does not fit: first
// what needs no second GPU, recomputation, mixed precision, both; then more
// GPUs if that is not enough, data parallelism with shards before a divided
// model. A smaller batch, if one fits, comes last: it changes the training.
func (v *view) ladder() []Remedy {
	if len(v.p.Spec.Model.Layers) == 0 {
		v.warn("how to make the task fit cannot be told: the layers of the model are unknown")
		return nil
	}
	all := collect(v.recompute(), v.mixPrecision(), v.recomputeMixed())
	fits := slices.ContainsFunc(all, func(r Remedy) bool { return r.Fits })
	for _, way := range []profile.Parallelism{profile.ShardedData, profile.ModelParallel} {
		if fits {
			break
		}
		if r := v.spread(way); r != nil {
			all = append(all, *r)
			fits = r.Fits
		}
	}
	if r := v.shrinkBatch(float64(v.usable)); r != nil {
		all = append(all, *r)
	}
	for i := range all {
		all[i].urgency = len(all) - i
	}
	return all
}

// frugal is the training with recomputation and 16-bit arithmetic.
func (v *view) frugal() profile.Training {
	t := v.p.Spec.Training
	if t.Precision == profile.FP32 || t.Precision == profile.TF32 {
		t.Precision = profile.Mixed
	}
	t.Checkpointing = t.Optimizer != profile.NoOptimizer
	return t
}

// recomputeMixed does both, where neither is in use.
func (v *view) recomputeMixed() *Remedy {
	one, other := v.recompute(), v.mixPrecision()
	if one == nil || other == nil {
		return nil
	}
	r := &Remedy{
		Action: RecomputeMixed, Source: sourceRecompute + "; " + sourceMixed, Training: profile.Some(v.frugal()),
		Text:       "train in mixed precision and recompute activations",
		Throughput: one.Throughput.times(other.Throughput),
	}
	v.predictInto(r)
	return r
}

func (e Effect) times(o Effect) Effect {
	return Effect{Value: e.Value * o.Value, Lo: e.Lo * o.Lo, Hi: e.Hi * o.Hi}
}

// spread divides the frugal task over 2, 4, 8 ... GPUs until it fits; if it does
// not fit on MaxGPUs, that is what it returns. The batch of each GPU stays. What
// communication costs is not predicted: half of the GPU's time is the most that
// is assumed.
func (v *view) spread(way profile.Parallelism) *Remedy {
	action, what := ShardData, "shard weights, gradients and optimiser state over %d data-parallel GPUs (ZeRO, FSDP)"
	if way == profile.ModelParallel {
		action, what = SplitModel, "divide the layers over %d GPUs (tensor or pipeline parallelism)"
	}
	var last *Remedy
	for n := 2; n <= v.o.MaxGPUs; n *= 2 {
		t := v.frugal()
		t.GPUs, t.Parallelism = n, way
		r := &Remedy{
			Action: action, Count: n, Throughput: between(0.5, 1), Source: sourceShard,
			Training: profile.Some(t), Text: fmt.Sprintf(what, n) + ", with mixed precision and recomputation",
		}
		if !v.predictInto(r) {
			return last
		}
		last = r
		if r.Fits {
			break
		}
	}
	return last
}
