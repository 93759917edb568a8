package onnx

import (
	"slices"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// outShape returns the shape of a node's first output for one sample: what the
// file states, or else what follows from the inputs.
func (g *graph) outShape(n *node, sample map[string][]int64) ([]int64, bool) {
	if len(n.outputs) == 0 {
		return nil, false
	}
	if stated := g.shapes[n.outputs[0]]; len(stated) > 0 && slices.Min(append([]int64{1}, stated[1:]...)) > 0 {
		return stated[1:], true
	}
	if len(n.inputs) == 0 {
		return nil, false
	}
	in, ok := sample[n.inputs[0]]
	switch {
	case n.op == "Concat":
		return concatShape(n, sample)
	case kindOfOp(n.op) == profile.OtherLayer && n.op != "Flatten":
		return elementwiseShape(n, sample)
	case !ok:
		return nil, false
	}
	switch n.op {
	case "Conv", "ConvTranspose":
		return g.convShape(n, in)
	case "MaxPool", "AveragePool", "LpPool":
		if len(in) < 2 {
			return nil, false
		}
		return windowShape(n, in[0], in[1:], n.ints["kernel_shape"])
	case "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool":
		out := slices.Repeat([]int64{1}, len(in))
		copy(out, in[:min(1, len(in))])
		return out, true
	case "Flatten":
		return []int64{scan.Mul(in...)}, true
	case "Gemm", "MatMul":
		return g.productShape(n, in, sample)
	case "LSTM", "GRU", "RNN", "Attention", "MultiHeadAttention", "GroupQueryAttention":
		return nil, false
	}
	return in, true
}

// elementwiseShape is for the operators that broadcast; all others that are no
// layers change shapes in ways that only shape inference knows.
func elementwiseShape(n *node, sample map[string][]int64) ([]int64, bool) {
	switch n.op {
	case "Add", "Sub", "Mul", "Div", "Sum", "Max", "Min", "Pow", "Identity", "Cast", "Sqrt", "Exp", "Neg", "Abs":
	default:
		return nil, false
	}
	var out []int64
	known := false
	for _, in := range n.inputs {
		if s, ok := sample[in]; ok {
			out, known = broadcast(out, s), true
		}
	}
	return out, known
}

// broadcast is the shape of two together, which are aligned at their last dimensions.
func broadcast(a, b []int64) []int64 {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i, d := range b {
		at := len(a) - len(b) + i
		out[at] = max(out[at], d)
	}
	return out
}

func concatShape(n *node, sample map[string][]int64) ([]int64, bool) {
	axis := n.ints["axis"]
	var out []int64
	for _, in := range n.inputs {
		s, ok := sample[in]
		if !ok || len(axis) != 1 {
			return nil, false
		}
		at := int(max(min(axis[0], scan.MaxRank+1), -scan.MaxRank-1)) - 1
		if axis[0] < 0 {
			at = len(s) + at + 1
		}
		if at < 0 || at >= len(s) || out != nil && len(out) != len(s) {
			return nil, false
		}
		if out == nil {
			out = slices.Clone(s)
		} else {
			out[at] = scan.Add(out[at], s[at])
		}
	}
	return out, out != nil
}

func (g *graph) convShape(n *node, in []int64) ([]int64, bool) {
	if len(n.inputs) < 2 {
		return nil, false
	}
	w := g.shapeOf(n.inputs[1])
	if len(w) < 3 || len(in) != len(w)-1 {
		return nil, false
	}
	if n.op == "Conv" {
		return windowShape(n, w[0], in[1:], w[2:])
	}
	out := []int64{scan.Mul(w[1], at(n.ints["group"], 0, 1))}
	pads, extra := n.ints["pads"], n.ints["output_padding"]
	for i, size := range in[1:] {
		d := scan.Mul(at(n.ints["strides"], i, 1), size-1) + at(extra, i, 0) + scan.Mul(at(n.ints["dilations"], i, 1), w[2+i]-1) + 1 -
			at(pads, i, 0) - at(pads, i+len(in)-1, 0)
		if d < 1 || d > scan.MaxDim {
			return nil, false
		}
		out = append(out, d)
	}
	return out, true
}

// windowShape slides a window over the spatial dimensions.
func windowShape(n *node, channels int64, spatial, kernel []int64) ([]int64, bool) {
	if len(kernel) != len(spatial) {
		return nil, false
	}
	out := []int64{channels}
	pads, same := n.ints["pads"], strings.HasPrefix(n.text["auto_pad"], "SAME")
	for i, size := range spatial {
		stride := at(n.ints["strides"], i, 1)
		if stride < 1 || size > scan.MaxDim || kernel[i] > scan.MaxDim {
			return nil, false
		}
		span := size + at(pads, i, 0) + at(pads, i+len(spatial), 0) - scan.Mul(at(n.ints["dilations"], i, 1), kernel[i]-1) - 1
		if at(n.ints["ceil_mode"], 0, 0) != 0 {
			span = scan.Add(max(span, 0), stride-1)
		}
		d := span/stride + 1
		if same {
			d = (size + stride - 1) / stride
		}
		if span < 0 && !same || d < 1 || d > scan.MaxDim {
			return nil, false
		}
		out = append(out, d)
	}
	return out, true
}

// shapeOf returns the shape of a weight, or nil.
func (g *graph) shapeOf(name string) []int64 {
	if t, ok := g.weights[name]; ok {
		return t.shape
	}
	return nil
}

// productShape is that of Gemm and MatMul.
func (g *graph) productShape(n *node, in []int64, sample map[string][]int64) ([]int64, bool) {
	if len(n.inputs) < 2 || len(in) == 0 {
		return nil, false
	}
	second := g.shapeOf(n.inputs[1])
	if len(second) == 0 {
		second = sample[n.inputs[1]]
	}
	if len(second) == 0 {
		return nil, false
	}
	last := second[len(second)-1]
	if n.op == "Gemm" && at(n.ints["transB"], 0, 0) != 0 {
		last = second[0]
	}
	return append(slices.Clone(in[:len(in)-1]), last), true
}

// at returns list[i], clamped to what a shape can hold, or missing.
func at(list []int64, i int, missing int64) int64 {
	if i < len(list) {
		return max(min(list[i], scan.MaxDim), -scan.MaxDim)
	}
	return missing
}
