package draft

import (
	"iter"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// KindOfClass returns the kind of a layer class as PyTorch or Keras names it,
// and whether the name is known. An unknown class is [profile.OtherLayer].
func KindOfClass(class string) (profile.LayerKind, bool) {
	name := strings.ToLower(class)
	for _, c := range classes {
		if c.whole && name == c.word || !c.whole && strings.Contains(name, c.word) {
			return c.kind, true
		}
	}
	return profile.OtherLayer, false
}

// KindOfTorchClass is kindOfClass for what PyTorch prints: the transformers
// library has a dense layer that it calls Conv1D, where PyTorch has Conv1d.
func KindOfTorchClass(class string) (profile.LayerKind, bool) {
	if class == "Conv1D" {
		return profile.Linear, true
	}
	return KindOfClass(class)
}

// classes are matched from the top: a more special word stands before a more
// general one.
//
//nolint:gochecknoglobals // read-only table
var classes = []struct {
	word  string
	whole bool // the class is the word, not only contains it
	kind  profile.LayerKind
}{
	{"embedding", true, profile.Embedding},
	{"rotaryembedding", false, profile.OtherLayer},
	{"wordembedding", false, profile.Embedding},
	{"positionalembedding", false, profile.Embedding},
	{"embeddingbag", true, profile.Embedding},
	{"multiheadattention", false, profile.Attention},
	{"groupqueryattention", true, profile.Attention},
	{"scaleddotproductattention", true, profile.Attention},
	{"linear", true, profile.Linear},
	{"linear4bit", true, profile.Linear},
	{"linear8bitlt", true, profile.Linear},
	{"columnparallellinear", true, profile.Linear},
	{"rowparallellinear", true, profile.Linear},
	{"lazylinear", true, profile.Linear},
	{"bilinear", true, profile.Linear},
	{"dense", true, profile.Linear},
	{"nondynamicallyquantizablelinear", true, profile.Linear},
	{"conv1d", true, profile.Conv},
	{"conv2d", true, profile.Conv},
	{"conv3d", true, profile.Conv},
	{"conv2dsame", true, profile.Conv},
	{"conv1dtranspose", true, profile.Conv},
	{"conv2dtranspose", true, profile.Conv},
	{"conv3dtranspose", true, profile.Conv},
	{"convtranspose", false, profile.Conv},
	{"depthwiseconv", false, profile.Conv},
	{"separableconv", false, profile.Conv},
	{"batchnorm", false, profile.Norm},
	{"layernorm", false, profile.Norm},
	{"groupnorm", false, profile.Norm},
	{"instancenorm", false, profile.Norm},
	{"rmsnorm", false, profile.Norm},
	{"localresponsenorm", false, profile.Norm},
	{"frozenbatchnorm", false, profile.Norm},
	{"batchnormalization", true, profile.Norm},
	{"layernormalization", true, profile.Norm},
	{"groupnormalization", true, profile.Norm},
	{"relu", false, profile.Activation},
	{"gelu", false, profile.Activation},
	{"silu", false, profile.Activation},
	{"elu", true, profile.Activation},
	{"selu", true, profile.Activation},
	{"celu", true, profile.Activation},
	{"glu", true, profile.Activation},
	{"swish", false, profile.Activation},
	{"mish", true, profile.Activation},
	{"sigmoid", false, profile.Activation},
	{"tanh", false, profile.Activation},
	{"softmax", false, profile.Activation},
	{"softplus", true, profile.Activation},
	{"softsign", true, profile.Activation},
	{"logsigmoid", true, profile.Activation},
	{"activation", true, profile.Activation},
	{"dropout", false, profile.Dropout},
	{"droppath", true, profile.Dropout},
	{"stochasticdepth", true, profile.Dropout},
	{"maxpool", false, profile.Pool},
	{"avgpool", false, profile.Pool},
	{"adaptivepool", false, profile.Pool},
	{"averagepool", false, profile.Pool},
	{"globalmaxpool", false, profile.Pool},
	{"rnn", true, profile.Recurrent},
	{"lstm", true, profile.Recurrent},
	{"gru", true, profile.Recurrent},
	{"simplernn", true, profile.Recurrent},
	{"rnncell", true, profile.Recurrent},
	{"lstmcell", true, profile.Recurrent},
	{"grucell", true, profile.Recurrent},
	{"identity", true, profile.OtherLayer},
	{"flatten", true, profile.OtherLayer},
	{"unflatten", true, profile.OtherLayer},
	{"upsample", false, profile.OtherLayer},
	{"upsampling", false, profile.OtherLayer},
	{"pixelshuffle", true, profile.OtherLayer},
	{"zeropad", false, profile.OtherLayer},
}

// IsView recognises the classes that hand their input on without a copy.
func IsView(class string) bool {
	switch strings.ToLower(class) {
	case "identity", "flatten", "unflatten", "reshape", "permute":
		return true
	}
	return false
}

// Measure fills in what follows from a layer's kind, its output shape for one
// sample (channels first where channelsFirst says so) and its parameters.
func Measure(l *profile.Layer, shape []int64, channelsFirst bool) {
	l.Activations = scan.Mul(shape...)
	if len(shape) == 0 {
		return
	}
	last := shape[len(shape)-1]
	switch l.Kind {
	case profile.Linear, profile.Embedding, profile.Recurrent:
		l.Neurons = last
	case profile.Conv:
		l.Neurons = last
		if channelsFirst {
			l.Neurons = shape[0]
		}
	default: // no output units of its own
	}
	switch {
	case l.Kind == profile.Embedding:
		l.MACs = profile.Some[int64](0)
	case l.Kind == profile.Norm:
		l.MACs = profile.Some(l.Activations)
	case (l.Kind == profile.Linear || l.Kind == profile.Conv) && l.Neurons > 0:
		l.MACs = profile.Some(scan.Mul(l.Params, l.Activations/l.Neurons))
	}
}

// Dense counts the parameters of a dense layer, or of a convolution that sees in elements
// at each position, with so many biases (0 or 1) for each output.
func Dense(in, out, biases int64) int64 { return scan.Mul(scan.Add(in, biases), out) }

// Recurrent counts those of a layer or cell of a class such as LSTM, whose gates see so
// many inputs, states and biases for each unit.
func Recurrent(class string, units, seen int64) int64 {
	gates := int64(1)
	switch strings.ToUpper(class[:min(3, len(class))]) {
	case "LST":
		gates = 4
	case "GRU":
		gates = 3
	}
	return scan.Mul(gates, units, seen)
}

// FamilyOfClasses guesses a family from the class of the root module and those of
// the modules inside; what they do not tell is left to the layers.
func FamilyOfClasses(root string, classes iter.Seq[string]) profile.Family {
	if family := FamilyOfClass(root); family != profile.UnknownFamily {
		return family
	}
	convs := 0
	for class := range classes {
		name := strings.ToLower(class)
		if kind, _ := KindOfTorchClass(class); kind == profile.Conv {
			convs++
		}
		if strings.Contains(name, "selfattention") || strings.Contains(name, "transformer") || strings.Contains(name, "sdpa") ||
			strings.Contains(name, "flashattention") || strings.HasSuffix(name, "attention") && convs < 4 {
			return profile.Transformer
		}
	}
	return profile.UnknownFamily
}

// FamilyOfClass guesses a family from a class such as LlamaForCausalLM, a
// model_type or an architecture.
func FamilyOfClass(class string) profile.Family {
	name := lowerASCII(class)
	for _, c := range []struct {
		family profile.Family
		words  []string
	}{
		{profile.Transformer, []string{
			"forcausallm", "lmheadmodel", "formaskedlm", "forconditionalgeneration", "forsequenceclassification", "fortokenclassification",
			"forquestionanswering", "bert", "llama", "gpt", "t5", "mistral", "mixtral", "qwen", "gemma", "falcon", "bloom", "transformer",
			"deepseek", "whisper", "electra", "deit", "vit", "swin", "clip", "bart", "roberta", "opt", "phi", "peftmodel", "videomae", "dit",
		}},
		{profile.CNN, []string{"resnet", "vgg", "densenet", "efficientnet", "mobilenet", "inception", "unet", "yolo", "convnext", "regnet", "squeezenet", "alexnet"}},
	} {
		for _, w := range c.words {
			at := strings.Index(name, w)
			if at < 0 || len(w) <= 3 && !wordAt(class, at, len(w)) {
				continue
			}
			return c.family
		}
	}
	return profile.UnknownFamily
}

// lowerASCII keeps each byte in its place: strings.ToLower makes some letters longer.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// wordAt says whether a short word stands for itself in a class name: at its
// start or before a capital, as ViT in ViTModel, and not within another word.
func wordAt(class string, at, n int) bool {
	isUpper := func(i int) bool { return class[i] >= 'A' && class[i] <= 'Z' }
	isLower := func(i int) bool { return class[i] >= 'a' && class[i] <= 'z' }
	starts := at == 0 || !isLower(at-1) && !isUpper(at-1) || isUpper(at) && isLower(at-1)
	ends := at+n == len(class) || !isLower(at+n)
	return starts && ends
}
