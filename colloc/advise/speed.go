package advise

import (
	"fmt"
	"math"

	"example.com/colloc/profile"
)

// Sources of the remedies.
const (
	sourceMixed     = "Micikevicius et al. 2018, arXiv:1710.03740; NVIDIA, Training with mixed precision: up to 3 times as fast"
	sourceRecompute = "Chen et al. 2016, arXiv:1604.06174: one more forward pass, a third of the GPU time of a step"
	sourceBatch     = "McCandlish et al. 2018, arXiv:1812.06162: beyond the critical batch size more samples per step are needed in total"
)

// maxMixedGain is what NVIDIA's guide promises at most.
const maxMixedGain = 3

// lightenInput is bounded by the GPU: it can do 1/sm of today's work.
func (v *view) lightenInput() *Remedy {
	_, sm, known := v.sm()
	most := v.headroom(sm)
	if wait, ok := v.dataWait(); ok && wait.Above {
		most, known = 1/max(0.01, 1-wait.Value), true
	}
	if !known {
		return nil
	}
	return &Remedy{
		Action: LightenInput, Throughput: between(1, most), Source: sourceStalls,
		Text: "give the task more CPU cores, or let them do less per sample: decode on the GPU, cache decoded samples",
	}
}

// headroom is how many times today's work the GPU could do until it is used
// well.
func (v *view) headroom(sm float64) float64 {
	return max(1, min(100, highSM/max(sm, 0.001)))
}

// addWorkers overlaps loading with computing. If a step without workers takes 1,
// of which the GPU works s, then with w workers it takes max(s, (1 - s) / w).
func (v *view) addWorkers() *Remedy {
	if wait, ok := v.dataWait(); ok && wait.Above {
		return v.hideWait(wait.Value)
	}
	s := max(0.01, v.gpuTime())
	if s >= 1 {
		return nil
	}
	w := min(int(math.Ceil((1-s)/s)), v.o.CPUs)
	t := v.p.Spec.Training
	t.Workers = w
	best := 1 / max(s, (1-s)/float64(w))
	return &Remedy{
		Action: AddWorkers, Count: w, Throughput: Effect{Value: best, Lo: 1, Hi: best}, Source: sourceLoader,
		Training: profile.Some(t),
		Text:     fmt.Sprintf("load data in %d worker processes so that loading and training overlap", w),
	}
}

// leastWorkers is how many worker processes are advised at least: loading has to keep
// ahead of training where it varies, too.
const leastWorkers = 4

// hideWait loads in more worker processes. If they load one batch each while a step
// takes 1, of which the task waits w, n workers take n for a batch, and n / (1 - w) of
// them take no longer than the rest of a step.
func (v *view) hideWait(wait float64) *Remedy {
	t := v.p.Spec.Training
	rest := max(0.01, 1-wait)
	loading := wait // by the training process itself
	if t.Workers > 0 {
		loading = float64(t.Workers)
	}
	w := min(max(leastWorkers, int(math.Ceil(loading/rest))), v.o.CPUs)
	t.Workers = w
	best := 1 / max(rest, loading/float64(w))
	return &Remedy{
		Action: AddWorkers, Count: w, Throughput: Effect{Value: best, Lo: 1, Hi: max(1, best)}, Source: sourceLoader,
		Training: profile.Some(t),
		Text:     fmt.Sprintf("load data in %d worker processes: %.0f %% of a step is spent waiting for it", w, 100*wait),
	}
}

// overGPUTime turns a speed-up of the GPU's part into one of the whole step
// (Amdahl's law).
func (v *view) overGPUTime(speedup float64) float64 {
	busy := v.gpuTime()
	return 1 / (1 - busy + busy/speedup)
}

// mixPrecision computes in 16 bits: at most as much faster as the GPU's 16-bit
// rate is higher, and no more than twice where bandwidth limits.
func (v *view) mixPrecision() *Remedy {
	t := v.p.Spec.Training
	rate := v.gpu.FP32
	switch t.Precision {
	case profile.FP32:
	case profile.TF32:
		rate = v.gpu.TF32
	default:
		return nil
	}
	gain := 1.0
	if finite(v.gpu.BF16) && finite(rate) && rate > 0 {
		gain = max(1, min(maxMixedGain, v.gpu.BF16/rate))
	}
	if dram, ok := v.p.Vector.Get(profile.MeanDRAMActive); ok && dram >= highDRAM {
		gain = min(gain, 2)
	}
	t.Precision = profile.Mixed
	r := &Remedy{
		Action: MixPrecision, Throughput: between(1, v.overGPUTime(gain)), Source: sourceMixed,
		Training: profile.Some(t), Text: "train in mixed precision (autocast)",
	}
	v.predictInto(r)
	return r
}

// recompute trades a third more GPU time for memory.
func (v *view) recompute() *Remedy {
	t := v.p.Spec.Training
	if t.Checkpointing || t.Optimizer == profile.NoOptimizer {
		return nil
	}
	t.Checkpointing = true
	loss := v.overGPUTime(3.0 / 4)
	r := &Remedy{
		Action: Recompute, Throughput: Effect{Value: loss, Lo: loss, Hi: 1}, Source: sourceRecompute,
		Training: profile.Some(t), Text: "recompute activations in the backward pass (gradient checkpointing)",
	}
	if !v.predictInto(r) {
		return nil // without memory to win it only costs
	}
	return r
}

// shareable is the reservation up to which sharing makes sense.
func (v *view) shareable() float64 {
	return min(float64(v.usable), largeMemory*float64(v.total))
}

// enlargeBatch doubles the batch as long as the task stays small enough to
// share.
func (v *view) enlargeBatch() *Remedy {
	_, sm, known := v.sm()
	t := v.p.Spec.Training
	if !known || t.BatchSize < 1 {
		return nil
	}
	var best *Remedy
	for factor := 2; float64(factor) <= 2*v.headroom(sm) && t.BatchSize <= profile.MaxBatch/2; factor *= 2 {
		t.BatchSize *= 2
		r := &Remedy{
			Action: ChangeBatch, Count: t.BatchSize, Throughput: between(1, min(float64(factor), v.headroom(sm))), Source: sourceBatch,
			Training: profile.Some(t),
			Text:     fmt.Sprintf("train with batches of %d and adapt the learning rate; fewer, larger kernels use the GPU better", t.BatchSize),
		}
		if !v.predictInto(r) || float64(r.Reserved) > v.shareable() {
			break
		}
		best = r
	}
	return best
}

// shrinkBatch halves the batch until the memory limit of the problem holds.
func (v *view) shrinkBatch(room float64) *Remedy {
	t := v.p.Spec.Training
	for t.BatchSize > 1 {
		t.BatchSize /= 2
		r := &Remedy{
			Action: ChangeBatch, Count: t.BatchSize, Throughput: between(0.5, 1), Source: sourceBatch, Training: profile.Some(t),
			Text: fmt.Sprintf("train with batches of %d; accumulate gradients over several to keep the result", t.BatchSize),
		}
		if !v.predictInto(r) {
			return nil
		}
		if float64(r.Reserved) <= room {
			return r
		}
	}
	return nil
}

// predictInto fills in the memory of a remedy and reports whether that worked.
func (v *view) predictInto(r *Remedy) bool {
	t, _ := r.Training.Get()
	estimate, reserved, err := v.with(t)
	if err != nil {
		return false
	}
	r.Memory, r.Reserved, r.Fits = profile.Some(estimate), reserved, reserved <= v.usable
	return true
}
