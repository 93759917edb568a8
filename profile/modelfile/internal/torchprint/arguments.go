package torchprint

import (
	"strconv"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// arguments are what PyTorch prints between a module's brackets.
type arguments struct {
	plain []string          // without a name, in order
	named map[string]string // with one

	rows, width int64 // of the weight, after size
	unread      bool  // a size is there and is no number
}

// parseArguments reads "3, 64, kernel_size=(7, 7), bias=False".
func parseArguments(text string) arguments {
	a := arguments{named: map[string]string{}}
	depth, start := 0, 0
	cut := func(end int) {
		field := strings.TrimSpace(text[start:end])
		if name, value, ok := strings.Cut(field, "="); ok {
			a.named[name] = value
		} else if field != "" {
			a.plain = append(a.plain, field)
		}
		start = end + 1
	}
	for i := range len(text) {
		switch text[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth <= 0 {
				cut(i)
			}
		}
	}
	cut(len(text))
	return a
}

// number returns the named argument, or else the plain one at a position, or 0.
func (a *arguments) number(name string, position int) int64 {
	text := a.named[name]
	if text == "" && position >= 0 && position < len(a.plain) {
		text = a.plain[position]
	}
	n, err := strconv.ParseUint(strings.Trim(text, "(), "), 10, 64)
	if err != nil || n > scan.MaxDim {
		a.unread = a.unread || text != ""
		return 0
	}
	return int64(n)
}

// product multiplies the numbers of a tuple such as "(3, 3)" or "torch.Size([3, 3])"; 0
// is no such tuple.
func (a *arguments) product(text string) int64 {
	n := int64(1)
	for field := range strings.SplitSeq(strings.Trim(strings.TrimPrefix(text, "torch.Size"), "()[], "), ",") {
		d, err := strconv.ParseUint(strings.TrimSpace(field), 10, 64)
		if err != nil || d > scan.MaxDim {
			return 0
		}
		n = scan.Mul(n, int64(d))
	}
	return n
}

// size sets neurons and parameters from the arguments of a class that PyTorch
// or the transformers library prints; it reports whether they tell the parameters.
func (a *arguments) size(l *profile.Layer, class string) bool {
	bias := int64(1)
	if a.named["bias"] == "False" {
		bias = 0
	}
	switch {
	case class == "PReLU":
		l.Params = max(1, a.number("num_parameters", 0))
	case class == "Conv1D": // a dense layer of the transformers library
		a.rows, a.width = a.number("nf", 0), a.number("nx", 1)
		l.Neurons, l.Params = a.rows, weights(a.rows, a.width, 1)
	case class == "Bilinear":
		l.Neurons = a.number("out_features", 2)
		l.Params = weights(l.Neurons, scan.Mul(a.number("in1_features", 0), a.number("in2_features", 1)), bias)
	case l.Kind == profile.Linear:
		a.rows, a.width = a.number("out_features", 1), a.number("in_features", 0)
		l.Neurons, l.Params = a.rows, weights(a.rows, a.width, bias)
	case l.Kind == profile.Embedding:
		a.rows, a.width = a.number("", 0), a.number("", 1)
		l.Neurons, l.Params, l.MACs = a.width, scan.Mul(a.rows, a.width), profile.Some[int64](0)
	case l.Kind == profile.Conv:
		groups, kernel := max(1, a.number("groups", -1)), a.product(a.named["kernel_size"])
		l.Neurons = a.number("out_channels", 1)
		l.Params = weights(l.Neurons, scan.Mul(a.number("in_channels", 0)/groups, kernel), bias)
	case l.Kind == profile.Norm && a.fixed(class):
		return true
	case l.Kind == profile.Norm:
		l.Params = a.norm(class, bias)
	case l.Kind == profile.Recurrent:
		l.Neurons, l.Params = a.recurrent(class, bias)
	default:
		return strings.HasSuffix(class, "RotaryEmbedding") || l.Kind == profile.Activation || l.Kind == profile.Dropout || l.Kind == profile.Pool || draft.IsView(class)
	}
	return l.Params > 0 && !a.unread
}

// weights are those of a matrix and its bias; 0 where a side is not told.
func weights(rows, width, bias int64) int64 {
	if width == 0 {
		return 0
	}
	return draft.Dense(width, rows, bias)
}

// fixed reports whether a norm has no parameters.
func (a *arguments) fixed(class string) bool {
	return a.named["affine"] == "False" || a.named["elementwise_affine"] == "False" ||
		strings.HasPrefix(class, "InstanceNorm") && a.named["affine"] != "True" ||
		strings.Contains(class, "FrozenBatchNorm") || strings.HasPrefix(class, "LocalResponseNorm")
}

// norm returns the parameters of a norm that has some; 0 where its width is not told.
func (a *arguments) norm(class string, bias int64) int64 {
	name := strings.ToLower(class)
	position := 0
	if strings.HasPrefix(name, "groupnorm") {
		position = 1
	}
	if position >= len(a.plain) {
		return 0
	}
	width := a.product(a.plain[position])
	if strings.Contains(name, "rmsnorm") || strings.HasPrefix(class, "T5LayerNorm") {
		return width
	}
	return scan.Mul(width, 1+bias)
}

// recurrent returns the units and parameters of RNN, LSTM and GRU: for each
// layer and direction gates × units × (inputs + units + 2); 0 where a size is not told.
func (a *arguments) recurrent(class string, bias int64) (units, params int64) {
	in, units := a.number("input_size", 0), a.number("hidden_size", 1)
	if in == 0 {
		return units, 0
	}
	directions := int64(1)
	if a.named["bidirectional"] == "True" {
		directions = 2
	}
	out, narrow := units, a.number("proj_size", -1)
	if narrow > 0 {
		out = narrow // an LSTM may project what it puts out
	}
	for range min(max(1, a.number("num_layers", -1)), 1<<10) {
		params = scan.Add(params, scan.Mul(directions, draft.Recurrent(class, units, in+out+2*bias)), scan.Mul(directions, units, narrow))
		in = scan.Mul(out, directions)
	}
	return units, params
}
