package keras

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// shapeOf reads [null, 224, 224, 3] as the shape of one sample. Open or absent
// dimensions make it unknown, which is nil.
func shapeOf(raw json.RawMessage) []int64 {
	var dims []*int64
	if json.Unmarshal(raw, &dims) != nil || len(dims) < 2 || len(dims) > scan.MaxRank {
		return nil
	}
	var shape []int64
	for _, d := range dims[1:] {
		if d == nil || *d < 1 || *d > scan.MaxDim {
			return nil
		}
		shape = append(shape, *d)
	}
	return shape
}

// listOf reads a number or a list of numbers as a list of n; null is missing.
func listOf(raw json.RawMessage, n int, missing int64) []int64 {
	var one int64
	var many []int64
	switch {
	case string(raw) != "null" && json.Unmarshal(raw, &one) == nil:
		many = slices.Repeat([]int64{one}, n)
	case json.Unmarshal(raw, &many) != nil || len(many) != n:
		many = slices.Repeat([]int64{missing}, n)
	}
	for i := range many {
		many[i] = min(max(many[i], 0), scan.MaxDim)
	}
	return many
}

// movesData says whether a class moves data without computing or keeping it.
func movesData(class string) bool {
	switch class {
	case "Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot", "Reshape", "Permute",
		"Rescaling", "Normalization", "Lambda", "TFOpLambda", "SlicingOpLambda", "RepeatVector", "Cropping2D", "Resizing", "Masking",
		"SpatialDropout2D", "GaussianNoise":
		return true
	}
	return strings.HasPrefix(class, "Random") || strings.HasPrefix(class, "ZeroPadding")
}

// outputOf returns the output shape of one layer for one sample, channels
// last. An unknown input stays unknown.
func outputOf(l *layer, in []int64, inputs [][]int64) ([]int64, error) {
	c := &l.Config
	if in == nil {
		return nil, nil
	}
	rank := len(in) - 1 // spatial
	channels := in[rank]
	class := l.Class
	switch {
	case class == "Dense":
		return append(slices.Clone(in[:rank]), c.Units), nil
	case class == "Embedding":
		return append(slices.Clone(in), c.OutputDim), nil
	case class == "Flatten":
		return []int64{scan.Mul(in...)}, nil
	case class == "Reshape":
		return reshape(targetOf(c.Target), scan.Mul(in...)), nil // channels first or last: the elements decide
	case strings.HasPrefix(class, "Global") && strings.Contains(class, "Pool"):
		return []int64{channels}, nil
	case class == "LSTM" || class == "GRU" || class == "SimpleRNN":
		if c.Sequences {
			return append(slices.Clone(in[:rank]), c.Units), nil
		}
		return []int64{c.Units}, nil
	case class == "Concatenate":
		out := slices.Clone(in)
		for _, other := range inputs[1:] {
			if len(other) != len(in) {
				return nil, nil
			}
			out[rank] = scan.Add(out[rank], other[rank])
		}
		return out, nil
	case strings.HasPrefix(class, "ZeroPadding"), strings.HasPrefix(class, "UpSampling"):
		return resize(l, in), nil
	case strings.Contains(class, "Conv"), strings.Contains(class, "Pooling"):
		return window(l, in)
	}
	return in, nil
}

// reshape fits a target shape, in which one dimension may be -1, to a number
// of elements; nil does not.
func reshape(target []int64, elements int64) []int64 {
	rest, open := int64(1), -1
	for i, d := range target {
		switch {
		case d == -1 && open < 0:
			open = i
		case d < 1:
			return nil
		default:
			rest = scan.Mul(rest, d)
		}
	}
	if open >= 0 && elements%rest == 0 {
		target[open] = elements / rest
		return target
	}
	if len(target) == 0 || open >= 0 || rest != elements {
		return nil
	}
	return target
}

func targetOf(raw json.RawMessage) []int64 {
	var list []int64
	if json.Unmarshal(raw, &list) != nil || len(list) > scan.MaxRank {
		return nil
	}
	return list
}

// resize is for padding, whose amounts are a number, one per dimension or
// a pair per dimension, and for upsampling.
func resize(l *layer, in []int64) []int64 {
	out := slices.Clone(in)
	n := len(in) - 1
	if strings.HasPrefix(l.Class, "UpSampling") {
		for i, f := range listOf(l.Config.Size, n, 2) {
			out[i] = scan.Mul(out[i], f)
		}
		return out
	}
	var pairs [][]int64
	if json.Unmarshal(l.Config.PadBy, &pairs) != nil || len(pairs) != n {
		pairs = nil
		for _, p := range listOf(l.Config.PadBy, n, 1) {
			pairs = append(pairs, []int64{p, p})
		}
	}
	for i, p := range pairs {
		for _, amount := range p {
			out[i] = scan.Add(out[i], min(max(amount, 0), scan.MaxDim))
		}
	}
	return out
}

// window is for convolutions and pooling.
func window(l *layer, in []int64) ([]int64, error) {
	c := &l.Config
	n := len(in) - 1
	if n < 1 {
		return nil, fmt.Errorf("%s over a vector", reading.Clip(l.Class))
	}
	kernel, strides := listOf(c.Kernel, n, 1), listOf(c.Strides, n, 1)
	if strings.Contains(l.Class, "Pooling") {
		kernel = listOf(c.Pool, n, 2)
		strides = listOf(c.Strides, n, kernel[0])
	}
	dilation := listOf(c.Dilation, n, 1)
	var padding string
	_ = json.Unmarshal(c.PadBy, &padding) // no word is no padding
	same := padding == "same"
	out := slices.Clone(in)
	for i := range n {
		stride, span := max(strides[i], 1), scan.Mul(kernel[i]-1, max(dilation[i], 1))+1
		switch {
		case strings.Contains(l.Class, "Transpose") && same:
			out[i] = scan.Mul(in[i], stride)
		case strings.Contains(l.Class, "Transpose"):
			out[i] = scan.Add(scan.Mul(in[i]-1, stride), span)
		case same:
			out[i] = (in[i] + stride - 1) / stride
		default:
			out[i] = (in[i]-span)/stride + 1
		}
		if out[i] < 1 || in[i] < span && !same && !strings.Contains(l.Class, "Transpose") || out[i] > scan.MaxDim {
			return nil, fmt.Errorf("a window of %d over %d elements", span, in[i])
		}
	}
	switch {
	case strings.Contains(l.Class, "Pooling"):
	case strings.HasPrefix(l.Class, "Depthwise"):
		out[n] = scan.Mul(in[n], max(c.Multiplier, 1))
	default:
		out[n] = c.Filters
	}
	return out, nil
}

// on is the value of a switch that is on unless the file says otherwise.
func on(flag json.RawMessage) int64 {
	if string(flag) == "false" {
		return 0
	}
	return 1
}

// paramsOf returns the trained parameters of a layer; those that depend on
// an unknown input are an error.
func paramsOf(l *layer, kind profile.LayerKind, in []int64) (int64, error) {
	c := &l.Config
	if slices.Min([]int64{c.Filters, c.Units, c.InputDim, c.OutputDim, c.Multiplier, c.Heads, c.KeyDim, c.ValueDim}) < 0 {
		return 0, fmt.Errorf("%s has a negative size", reading.Clip(l.Class))
	}
	if kind == profile.Embedding {
		return scan.Mul(c.InputDim, c.OutputDim), nil
	}
	switch {
	case kind == profile.Linear, kind == profile.Conv, kind == profile.Norm, kind == profile.Recurrent, kind == profile.Attention, l.Class == "PReLU":
	default:
		return 0, nil
	}
	if len(in) == 0 {
		return 0, fmt.Errorf("the input shape of %s is not known: state the model's input shape", reading.Clip(l.Class))
	}
	width, bias := in[len(in)-1], on(c.UseBias)
	switch kind {
	case profile.Activation: // a slope for each element, but along shared axes
		slopes := slices.Clone(in)
		for _, axis := range c.SharedAxes {
			if axis > 0 && axis <= int64(len(slopes)) {
				slopes[axis-1] = 1
			}
		}
		return scan.Mul(slopes...), nil
	case profile.Linear:
		return draft.Dense(width, c.Units, bias), nil
	case profile.Norm:
		return scan.Mul(width, on(c.Center)+on(c.Scale)), nil
	case profile.Recurrent:
		if l.Class == "GRU" { // one that resets after the product, the default, has two
			bias += bias * on(c.ResetAfter)
		}
		return draft.Recurrent(l.Class, c.Units, scan.Add(width, c.Units, bias)), nil
	case profile.Attention:
		value := c.ValueDim
		if value == 0 {
			value = c.KeyDim
		}
		keys, values := scan.Mul(c.Heads, c.KeyDim), scan.Mul(c.Heads, value)
		return scan.Add(draft.Dense(width, scan.Mul(2, keys), bias), draft.Dense(width, values, bias), draft.Dense(values, width, bias)), nil
	default: // convolutions, below
	}
	window := scan.Mul(listOf(c.Kernel, len(in)-1, 1)...)
	multiplier := max(c.Multiplier, 1)
	switch {
	case strings.HasPrefix(l.Class, "Depthwise"):
		return scan.Mul(scan.Add(window, bias), width, multiplier), nil
	case strings.HasPrefix(l.Class, "Separable"):
		return scan.Add(scan.Mul(window, width, multiplier), draft.Dense(scan.Mul(width, multiplier), c.Filters, bias)), nil
	}
	return draft.Dense(scan.Mul(width/max(c.Groups, 1), window), c.Filters, bias), nil
}
