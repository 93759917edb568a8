package footprint

import (
	"math"

	"example.com/colloc/profile"
)

// Footprint is what a task keeps in device memory, counted from its layers. All
// amounts are bytes for one GPU and the whole batch. Everything is monotone in
// batch, parameters and optimiser state.
type Footprint struct {
	Weights float64 // parameters, and their 16-bit copies under autocast
	Grads   float64 // gradients, and the buckets of data parallelism
	State   float64 // what the optimiser keeps between steps
	Temp    float64 // what the optimiser's step needs for a moment
	Kept    float64 // activations kept for the backward pass
	Masks   float64 // dropout masks and pooling indices
	Largest float64 // the largest single output
	Transit float64 // largest input + output of one convolution
	Input   float64 // the batch itself
	Biggest float64 // parameters of the largest layer
	Head    float64 // output of the last dense layer: the logits

	// The shape of the network: counts, and elements for one sample.
	Layers, Convs   float64
	ByKind          [profile.LayerKinds]float64
	Outputs         float64 // all outputs, kept or not
	KeptElements    float64
	LargestElements float64
	TransitElements float64
}

// Measure counts the bytes of spec. It allocates nothing. O(layers).
//
// An Attention layer stands for the scores: the softmax is kept and read again,
// unless the layer is marked InPlace, which means a fused kernel that never
// stores them (Dao et al. 2022, arXiv 2205.14135). A tensor counts as kept when the backward pass reads it, as PyTorch's autograd
// does: dense layers, convolutions, normalisations and recurrent layers read
// their input; element-wise non-linearities read their input, except ReLU, tanh
// and sigmoid, and whatever works in place, which read their output (or, SiLU, GELU
// and Mish, a clone of their input that is kept besides); dropout
// reads a mask of one byte an element, max pooling an index of eight. The input
// of a layer is the output of the one before it in the list.
func (f *Footprint) Measure(spec *profile.Spec) {
	*f = Footprint{}
	t := &spec.Training
	element := t.Precision.ElementBytes()
	batch := float64(t.BatchSize)
	unit := element * batch
	params, trainable := f.walk(spec.Model.Layers, batch)
	f.Kept = f.KeptElements * unit
	f.Largest = f.LargestElements * unit
	f.Transit = f.TransitElements * unit
	f.Head *= 4 * batch // losses are computed in 32 bits
	f.Input = float64(spec.Dataset.SampleElements.Or(0)) * 4 * batch
	f.holdParams(params, trainable, t)
	if t.Optimizer == profile.NoOptimizer {
		f.Kept, f.Masks = 0, 0
	}
	if t.Checkpointing {
		f.recompute()
	}
}

// walk sums up the layers in elements of one sample, masks in bytes of the
// batch, and returns the number of parameters and of those that are trained.
func (f *Footprint) walk(layers []profile.Layer, batch float64) (params, trainable float64) {
	var before float64
	for i := range layers {
		l := &layers[i]
		out := float64(l.Activations)
		if l.Kind == profile.Attention && l.InPlace { // a fused kernel's scores are nowhere
			out = 0
		}
		params += float64(l.Params)
		trainable += float64(l.Params - l.Frozen)
		f.Biggest = max(f.Biggest, float64(l.Params))
		f.LargestElements = max(f.LargestElements, out)
		f.ByKind[l.Kind] += out
		f.Outputs += out
		f.Layers++
		if readsOutput(l) || i+1 < len(layers) && readsInput(&layers[i+1]) {
			f.KeptElements += out
		}
		if l.Kind == profile.Activation && l.InPlace && clones(l.Name) {
			f.KeptElements += out
		}
		switch l.Kind {
		case profile.Dropout:
			f.Masks += out * batch
		case profile.Pool:
			f.Masks += 8 * out * batch
		case profile.Conv:
			f.Convs++
			f.TransitElements = max(f.TransitElements, before+out)
		case profile.Linear:
			f.Head = out
		case profile.Attention:
			f.KeptElements += mixed(layers[i+1:])
		default:
		}
		if !l.InPlace || l.Kind != profile.OtherLayer {
			before = out
		}
	}
	return params, trainable
}

// mixed returns the elements of an attention's mixed values, which the output
// projection after it reads: as many as that projection puts out.
func mixed(after []profile.Layer) float64 {
	for i := range min(2, len(after)) {
		if after[i].Kind == profile.Linear {
			return float64(after[i].Activations)
		}
	}
	return 0
}

// readsInput says whether a layer's backward pass reads the layer's input.
func readsInput(l *profile.Layer) bool {
	switch l.Kind {
	case profile.Linear, profile.Conv, profile.Norm, profile.Recurrent, profile.Attention:
		return true
	case profile.Activation:
		return !readsOutput(l)
	default:
		return false
	}
}

// readsOutput says whether a layer's backward pass reads the layer's output.
func readsOutput(l *profile.Layer) bool {
	switch l.Kind {
	case profile.Attention, profile.Recurrent:
		return true
	case profile.Activation:
		return l.InPlace || savesOutput(l.Name)
	default:
		return false
	}
}

// savesOutput recognises, by the name of a layer, the non-linearities whose
// derivative PyTorch computes from their output: ReLU, tanh, sigmoid, softmax,
// but not their relatives (LeakyReLU, PReLU, ReLU6, LogSigmoid, Hardtanh).
func savesOutput(name string) bool {
	for at := range len(name) {
		if at > 0 && isLetter(name[at-1]) {
			continue
		}
		for _, word := range [...]string{"relu", "tanh", "sigmoid", "softmax"} {
			end := at + len(word)
			if startsWith(name[at:], word) && (end == len(name) || name[end] != '6') {
				return true
			}
		}
	}
	return false
}

// clones recognises, by the name of a layer, the non-linearities whose derivative
// PyTorch computes from their input even where they overwrite it: autograd then
// keeps a clone of it. (ELU, LeakyReLU, Hardtanh and ReLU6 have one from their
// output in place.)
func clones(name string) bool {
	for at := range len(name) {
		switch rest := name[at:]; rest[0] | 0x20 {
		case 's':
			if startsWith(rest, "silu") || startsWith(rest, "swish") {
				return true
			}
		case 'g':
			if startsWith(rest, "gelu") {
				return true
			}
		case 'm':
			if startsWith(rest, "mish") {
				return true
			}
		default: // most letters begin none of them
		}
	}
	return false
}

// startsWith says whether name starts with word, which is in small letters, in
// letters of either case.
func startsWith(name, word string) bool {
	if len(name) < len(word) {
		return false
	}
	for i := range len(word) {
		if name[i]|0x20 != word[i] { // a small letter is its capital and this bit
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// holdParams sets what the parameters cost: weights, and of the trained ones
// gradients and optimiser state, by precision and update rule, divided or doubled
// by parallelism.
func (f *Footprint) holdParams(params, trainable float64, t *profile.Training) {
	w := 4.0
	if t.Precision == profile.BF16 || t.Precision == profile.FP16 {
		w = 2
	}
	f.Weights, f.Grads = w*params, w*trainable
	f.Biggest *= w
	if t.Precision == profile.Mixed {
		f.Weights += 2 * params // autocast keeps 16-bit copies for the step
	}
	switch t.Optimizer {
	case profile.NoOptimizer:
		f.Grads = 0
	case profile.SGD:
	case profile.Momentum:
		f.State = w * trainable
	case profile.Adafactor:
		f.State, f.Temp = 0.05*w*trainable, w*trainable
	default: // Adam, and unknown counts as Adam
		f.State, f.Temp = 2*w*trainable, w*trainable
	}
	gpus := max(1, float64(t.GPUs))
	switch t.Parallelism {
	case profile.DataParallel:
		if gpus > 1 {
			f.Grads *= 2
		}
	case profile.ShardedData:
		f.Weights = f.Weights/gpus + 2*f.Biggest
		f.Grads, f.State, f.Temp = f.Grads/gpus+f.Biggest, f.State/gpus, f.Temp/gpus
	case profile.ModelParallel:
		for _, v := range []*float64{&f.Weights, &f.Grads, &f.State, &f.Temp, &f.Kept, &f.Masks} {
			*v /= gpus
		}
	default:
	}
}

// recompute leaves of the kept activations the segment borders of the usual
// square-root schedule and one segment (Chen et al. 2016, arXiv 1604.06174).
func (f *Footprint) recompute() {
	share := min(1, 2/math.Sqrt(f.Layers))
	f.Kept *= share
	f.Masks *= share
}
