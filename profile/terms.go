package profile

import "math"

// Terms are the parts of a task's memory on one GPU that follow from its
// specification, and the work of one optimiser step. They are exact for what
// they describe and no prediction of the peak: caches, workspaces, fragments and
// the CUDA context come on top.
type Terms struct {
	// Weights, Gradients and States belong to the parameters.
	Weights, Gradients, States Bytes
	// Casts are 16-bit copies of the weights under mixed precision.
	Casts Bytes
	// Buckets are the buffers in which data parallelism sends gradients.
	Buckets Bytes
	// Activations are the layer outputs that the backward pass needs; of
	// inference the largest output. They are missing where a layer does not tell
	// its own.
	Activations Opt[Bytes]
	// AtLeast says that some layer does not tell its parameters: what belongs to
	// them is the least that it can be.
	AtLeast bool
	// FLOPs are the operations of one optimiser step on one GPU; missing where
	// a layer does not state its multiply-adds.
	FLOPs Opt[float64]
}

// Total returns the sum of all memory terms, and whether it is all of them: it
// is the least that there can be where parameters or activations are unknown.
func (t Terms) Total() (total Bytes, known bool) {
	sum := float64(t.Weights) + float64(t.Gradients) + float64(t.States) + float64(t.Casts) + float64(t.Buckets)
	return BytesOf(sum + float64(t.Activations.Or(0))), !t.AtLeast && !t.Activations.IsZero()
}

// Terms computes the terms of the task, for P parameters of which T are
// trainable, A layer outputs a sample (in-place ones left out), L layers, batch
// b, G GPUs:
//
//	               fp32, tf32   mixed   bf16, fp16
//	weights        4 P          4 P     2 P
//	casts          0            2 P     0           autocast's copies
//	gradients      4 T          4 T     2 T
//	states         4 S T        4 S T   2 S T       S: 0 SGD, 1 momentum, 2 Adam
//	activations    4 A b        2 A b   2 A b
//	buckets        gradients, with plain data parallelism on several GPUs
//
// Mixed precision is PyTorch's autocast, which keeps master weights and
// gradients in 32 bits (Micikevicius et al. 2018, https://arxiv.org/abs/1710.03740).
// With checkpointing of √L segments of equal size, their borders and one segment
// are alive at a time (Chen et al. 2016, https://arxiv.org/abs/1604.06174):
//
//	activations = 2 A b e / √L, at most A b e
//
// ZeRO divides states by G from stage 1 on, gradients from stage 2, weights and
// casts from stage 3 (Rajbhandari et al. 2020, doi:10.1109/SC41405.2020.00024).
// Buckets are those of DistributedDataParallel (Li et al. 2020,
// doi:10.14778/3415478.3415530). Accumulation changes no memory but repeats the
// work of a batch:
//
//	FLOPs = 2 MACs b × accumulation × (3, with checkpointing 4; inference 1)
//
// Inference keeps weights, casts and its largest layer output. Values beyond
// the range of Bytes are the largest Bytes. O(layers).
func (s Spec) Terms() Terms {
	t := &s.Training
	params, trainable := float64(s.Model.Params()), float64(s.Model.Trainable())
	wide := 4.0 // of what belongs to the parameters
	if t.Precision == BF16 || t.Precision == FP16 {
		wide = 2
	}
	shard := [4]float64{1, 1, 1, 1} // divisor of what a stage shards
	for stage := 1; stage <= min(t.stage(), 3); stage++ {
		shard[stage] = float64(t.replicas())
	}
	out := Terms{
		Weights: BytesOf(wide * params / shard[3]),
		AtLeast: s.Model.Unknown()&ParamCounts != 0,
	}
	if _, known := s.Model.Activations(); known {
		out.Activations = Some(BytesOf(s.activationBytes()))
	}
	if t.Precision == Mixed {
		out.Casts = BytesOf(2 * params / shard[3])
	}
	if macs, ok := s.Model.MACs(); ok {
		out.FLOPs = Some(2 * float64(macs) * float64(t.BatchSize) * float64(t.steps()) * t.passes())
	}
	if t.Optimizer == NoOptimizer {
		return out
	}
	out.Gradients = BytesOf(wide * trainable / shard[2])
	out.States = BytesOf(float64(t.Optimizer.StateElements()) * wide * trainable / shard[1])
	if t.Parallelism == DataParallel && t.replicas() > 1 {
		out.Buckets = out.Gradients
	}
	return out
}

// activationBytes is the memory of the layer outputs.
func (s *Spec) activationBytes() float64 {
	var kept, largest float64
	layers := 0
	for i := range s.Model.Layers {
		l := &s.Model.Layers[i]
		if l.InPlace {
			continue
		}
		layers++
		kept += float64(l.Activations)
		largest = max(largest, float64(l.Activations))
	}
	each := float64(s.Training.BatchSize) * s.Training.Precision.ElementBytes()
	switch {
	case s.Training.Optimizer == NoOptimizer:
		return largest * each
	case s.Training.Checkpointing && layers > 4:
		return 2 * kept * each / math.Sqrt(float64(layers))
	}
	return kept * each
}
