package memory

import (
	"math"

	"example.com/colloc/predict/internal/footprint"
	"example.com/colloc/profile"
)

// The byte terms of a layered task. Weights and optimiser state count as they
// are; every other term has a coefficient of at least 0. Activations are freed
// when the optimiser's step begins, so that the larger of both decides.
const (
	termContext = iota // 1: CUDA context and libraries
	termStep           // gradients and the temporary copies of the optimiser's step
	termPeak           // that or the kept activations, whichever is more
	termKept           // activations kept for the backward pass
	termMasks          // dropout masks and pooling indices
	termLargest        // largest output: gradients in flight
	termTransit        // largest input + output of a convolution: its workspace
	termBiggest        // parameters of the largest layer
	termInput          // the batch
	termMixed          // square root of kept activations × that workspace: fragments
	termCount
)

// The byte terms of a traced task.
const (
	tracedContext = iota
	tracedForward // live after the forward pass
	tracedGrowth  // what the backward pass adds
	tracedTerms
)

// featureCount is the most columns a residual model has.
const featureCount = 18

// The column of the batch among those of a layered task, in bytes per element, and
// of a traced one.
const (
	layeredBatch = 5
	tracedBatch  = 3
)

// monotoneFeatures is the number of leading columns in which the residual must
// not fall: they grow with batch, parameters or optimiser state. The others
// describe the shape of the network and depend on none of the three.
const monotoneFeatures = 6

// task is a task as the memory model sees it.
type task struct {
	fixed float64 // bytes that count as they are
	terms [termCount]float64
	n     int // terms in use
	x     [featureCount]float64
	used  int // columns of x that the residual reads; the spread may read more
	// outputs is the number of elements that the layers put out for one sample.
	outputs float64
	// halved says that a shape-only run tells one of its two figures: what the
	// backward pass adds is unknown.
	halved bool
}

// describe fills t for a task with layers.
func (t *task) describe(spec *profile.Spec) {
	var f footprint.Footprint
	f.Measure(spec)
	t.fixed = f.Weights + f.State + 2*f.Head // the loss keeps the logits' softmax and its gradient
	step := f.Grads + f.Temp
	t.n, t.outputs = termCount, f.Outputs
	t.terms = [termCount]float64{
		termContext: 1, termStep: step, termPeak: max(step, f.Kept+f.Masks), termKept: f.Kept, termMasks: f.Masks, termLargest: f.Largest,
		termTransit: f.Transit, termBiggest: f.Biggest, termInput: f.Input, termMixed: math.Sqrt(f.Kept * f.Transit),
	}
	outputs, largest := max(1, f.Outputs), max(1, f.LargestElements)
	unit := spec.Training.Precision.ElementBytes() * float64(spec.Training.BatchSize)
	t.used = featureCount
	t.x = [featureCount]float64{
		logMiB(f.Weights + f.Grads + f.State), logMiB(f.Kept), logMiB(f.Largest), logMiB(f.Biggest), logMiB(f.Transit), unit,
		largest / outputs,
		f.ByKind[profile.Norm] / outputs,
		f.ByKind[profile.Activation] / outputs,
		f.ByKind[profile.Dropout] / outputs,
		f.ByKind[profile.OtherLayer] / outputs,
		f.ByKind[profile.Linear] / outputs,
		f.TransitElements / largest,
		float64(spec.Dataset.SampleElements.Or(0)) / largest,
		math.Log1p(f.LargestElements),
		math.Log1p(f.Layers),
		math.Log1p(f.Convs),
		f.KeptElements / outputs,
	}
}

// describeTraced fills t for a task of which only a shape-only run is known.
func (t *task) describeTraced(spec *profile.Spec) {
	forward := float64(spec.Traced.AfterForward.Or(0))
	backward := float64(spec.Traced.AfterBackward.Or(0))
	halved := spec.Traced.AfterForward.IsZero() || spec.Traced.AfterBackward.IsZero()
	if spec.Traced.AfterForward.IsZero() {
		forward = backward
	}
	growth := max(0, backward-forward)
	*t = task{}
	t.n = tracedTerms
	t.halved = halved
	t.terms[tracedContext], t.terms[tracedForward], t.terms[tracedGrowth] = 1, forward, growth
	t.used = tracedBatch + 1
	t.x[0], t.x[1], t.x[2] = logMiB(forward), logMiB(growth), growth/max(1, forward)
	batch := max(1, float64(spec.Training.BatchSize))
	t.x[tracedBatch] = batch
	// For the spread alone: activations of one sample, how they compare with the
	// parameters, and the logarithm of the batch.
	t.x[tracedBatch+1] = math.Log(max(1, forward-2*growth) / batch)
	t.x[tracedBatch+2] = math.Log((forward + 1) / (growth + 1))
	t.x[tracedBatch+3] = math.Log(batch)
}

// held is what the task has in memory at once, whatever else it needs.
func (t *task) held() float64 {
	if t.n == tracedTerms {
		return t.terms[tracedForward]
	}
	return t.fixed
}

// batchColumn is the column of x that grows with nothing but the batch.
func (t *task) batchColumn() int {
	if t.n == tracedTerms {
		return tracedBatch
	}
	return layeredBatch
}

// monotone returns the sign that the residual's slope must have in each column.
// Shape-only runs are of one batch: only the batch that is stated besides must
// not lower the estimate.
func (t *task) monotone() []int8 {
	sign := make([]int8, featureCount)
	if t.n == tracedTerms {
		sign[tracedBatch] = 1
		return sign
	}
	for j := range monotoneFeatures {
		sign[j] = 1
	}
	return sign
}

// bytes returns the analytic estimate with the given coefficients.
func (t *task) bytes(coef []float64) float64 {
	sum := t.fixed
	for j := range min(t.n, len(coef)) {
		sum += float64(coef[j] * t.terms[j])
	}
	return sum
}

// logMiB is the logarithm of 1 + an amount in MiB.
func logMiB(bytes float64) float64 { return math.Log1p(bytes / float64(profile.MiB)) }
