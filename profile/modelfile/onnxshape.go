package modelfile

import (
	"slices"
	"strings"

	"example.com/colloc/profile"
)

// describe turns the nodes into leaves, in the order of the file, which ONNX
// demands to be an order of computing.
func (g *onnxGraph) describe(f *File) error {
	sample := g.samples(f)
	unknown, statistics := 0, int64(0)
	made, madeUp := map[string]bool{}, 0
	for i := range g.nodes {
		n := &g.nodes[i]
		if g.view(n) {
			continue
		}
		params, constants := g.params(n)
		if makesWeights(n.op) && len(n.outputs) > 0 {
			made[n.outputs[0]] = true
		}
		statistics = add(statistics, constants)
		shape, ok := g.outShape(n, sample)
		if ok {
			for _, out := range n.outputs[:min(1, len(n.outputs))] {
				sample[out] = shape
			}
		}
		l := g.layer(n, params, made)
		if l.Unknown&profile.ParamCounts != 0 {
			madeUp++
		}
		if l.Kind == profile.OtherLayer && params == 0 {
			continue
		}
		if ok {
			measure(&l, shape, true)
		} else {
			unknown++
			l.Unknown |= profile.ActivationCounts
		}
		if err := f.add(l); err != nil {
			return err
		}
	}
	g.totals(f, statistics, unknown)
	if madeUp > 0 {
		f.warn(0, "%d layers have weights that the graph makes when it runs: their parameters are unknown", madeUp)
	}
	return nil
}

// layer returns what a node with params parameters is. Those that it takes from
// constants made at run time are unknown.
func (g *onnxGraph) layer(n *onnxNode, params int64, made map[string]bool) profile.Layer {
	l := profile.Layer{Name: n.name, Kind: kindOfOp(n.op), Params: params}
	if l.Name == "" && len(n.outputs) > 0 {
		l.Name = n.outputs[0]
	}
	madeUp := readsMade(n, l.Kind, made)
	switch {
	case madeUp:
		l.Unknown |= profile.ParamCounts
		l.Params = 0
	case l.Kind == profile.Linear && !g.weighted(n):
		l.Kind = profile.Attention // a product of two activations
	}
	if n.op == "Gather" && params > 0 {
		l.Kind = profile.Embedding
	}
	return l
}

// makesWeights says whether an operation puts out constants made at run time, as
// graphs without their weights do.
func makesWeights(op string) bool {
	switch op {
	case "ConstantOfShape", "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "EyeLike":
		return true
	}
	return false
}

// readsMade says whether a layer that has weights takes them from such a constant.
func readsMade(n *onnxNode, kind profile.LayerKind, made map[string]bool) bool {
	switch kind {
	case profile.Linear, profile.Conv, profile.Norm, profile.Recurrent:
		return len(n.inputs) > 1 && made[n.inputs[1]]
	default:
		return false
	}
}

// samples returns the shapes of the graph's inputs for one sample.
func (g *onnxGraph) samples(f *File) map[string][]int64 {
	sample := map[string][]int64{}
	for _, name := range g.inputs {
		shape := g.shapes[name]
		if _, weight := g.weights[name]; weight || len(shape) == 0 {
			continue
		}
		if shape[0] > 0 && shape[0] <= profile.MaxBatch {
			f.BatchSize = profile.Some(int(shape[0]))
		}
		if slices.Min(append([]int64{1}, shape[1:]...)) < 1 {
			continue // open dimensions
		}
		sample[name] = shape[1:]
		if n := mul(shape[1:]...); n <= profile.MaxCount && f.SampleElements.IsZero() {
			f.SampleElements = profile.Some(n)
		}
	}
	return sample
}

// view follows the nodes that hand a weight on in another form, as exporters
// write for tied and for quantised weights.
func (g *onnxGraph) view(n *onnxNode) bool {
	if len(n.inputs) == 0 || len(n.outputs) == 0 {
		return false
	}
	t, ok := g.weights[n.inputs[0]]
	if !ok {
		return false
	}
	switch n.op {
	case "Identity", "Cast", "DequantizeLinear":
	case "Transpose":
		t = &onnxTensor{shape: slices.Clone(t.shape), float: t.float, of: t.root()}
		slices.Reverse(t.shape)
	default:
		return false
	}
	g.weights[n.outputs[0]] = t
	return true
}

// root is the weight as it is stored.
func (t *onnxTensor) root() *onnxTensor {
	if t.of != nil {
		return t.of
	}
	return t
}

// weighted says whether an input of the node is a weight.
func (g *onnxGraph) weighted(n *onnxNode) bool {
	for _, in := range n.inputs {
		if t, ok := g.weights[in]; ok && len(t.shape) > 0 {
			return true
		}
	}
	return false
}

// params counts the weights that the node is the first to use: trained ones,
// and statistics.
func (g *onnxGraph) params(n *onnxNode) (trained, statistics int64) {
	for i, in := range n.inputs {
		w, ok := g.weights[in]
		if !ok || w.root().used || !w.float || len(w.shape) == 0 {
			continue
		}
		t := w.root()
		t.used = true
		if n.op == "BatchNormalization" && i >= 3 {
			statistics = add(statistics, mul(t.shape...))
		} else {
			trained = add(trained, mul(t.shape...))
		}
	}
	return trained, statistics
}

func (g *onnxGraph) totals(f *File, statistics int64, unknown int) {
	var total, unread int64
	for _, t := range g.stored {
		if t.float && len(t.shape) > 0 {
			total = add(total, mul(t.shape...))
			if !t.used {
				unread = add(unread, mul(t.shape...))
			}
		}
	}
	if unread > 0 {
		f.warn(0, "%d of %d stored elements are read by no layer and left out", unread, total)
	}
	if total <= profile.MaxCount {
		f.TotalParams = profile.Some(total)
	}
	if statistics > 0 {
		f.warn(0, "%d of %d initializer elements are statistics of batch norms and no parameters", statistics, total)
	}
	if unknown > 0 {
		f.warn(0, "%d layers have no known output shape and unknown activations: run ONNX shape inference first", unknown)
	}
	if g.branches > 0 {
		f.warn(0, "%d branches of If are left out; of each the one with the most weights is described", g.branches)
	}
	if g.bodies {
		f.warn(0, "the body of Loop or Scan counts once")
	}
}

// outShape returns the shape of a node's first output for one sample: what the
// file states, or else what follows from the inputs.
func (g *onnxGraph) outShape(n *onnxNode, sample map[string][]int64) ([]int64, bool) {
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
		return []int64{mul(in...)}, true
	case "Gemm", "MatMul":
		return g.productShape(n, in, sample)
	case "LSTM", "GRU", "RNN", "Attention", "MultiHeadAttention", "GroupQueryAttention":
		return nil, false
	}
	return in, true
}

// elementwiseShape is for the operators that broadcast; all others that are no
// layers change shapes in ways that only shape inference knows.
func elementwiseShape(n *onnxNode, sample map[string][]int64) ([]int64, bool) {
	switch n.op {
	case "Add", "Sub", "Mul", "Div", "Sum", "Max", "Min", "Pow", "Identity", "Cast", "Sqrt", "Exp", "Neg", "Abs":
	default:
		return nil, false
	}
	var largest []int64
	for _, in := range n.inputs {
		if s, ok := sample[in]; ok && (largest == nil || mul(s...) > mul(largest...)) {
			largest = s
		}
	}
	return largest, largest != nil
}

func concatShape(n *onnxNode, sample map[string][]int64) ([]int64, bool) {
	axis := n.ints["axis"]
	var out []int64
	for _, in := range n.inputs {
		s, ok := sample[in]
		if !ok || len(axis) != 1 {
			return nil, false
		}
		at := int(max(min(axis[0], maxRank+1), -maxRank-1)) - 1
		if axis[0] < 0 {
			at = len(s) + at + 1
		}
		if at < 0 || at >= len(s) || out != nil && len(out) != len(s) {
			return nil, false
		}
		if out == nil {
			out = slices.Clone(s)
		} else {
			out[at] = add(out[at], s[at])
		}
	}
	return out, out != nil
}

func (g *onnxGraph) convShape(n *onnxNode, in []int64) ([]int64, bool) {
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
	out := []int64{mul(w[1], at(n.ints["group"], 0, 1))}
	pads, extra := n.ints["pads"], n.ints["output_padding"]
	for i, size := range in[1:] {
		d := mul(at(n.ints["strides"], i, 1), size-1) + at(extra, i, 0) + mul(at(n.ints["dilations"], i, 1), w[2+i]-1) + 1 -
			at(pads, i, 0) - at(pads, i+len(in)-1, 0)
		if d < 1 || d > maxDim {
			return nil, false
		}
		out = append(out, d)
	}
	return out, true
}

// windowShape slides a window over the spatial dimensions.
func windowShape(n *onnxNode, channels int64, spatial, kernel []int64) ([]int64, bool) {
	if len(kernel) != len(spatial) {
		return nil, false
	}
	out := []int64{channels}
	pads, same := n.ints["pads"], strings.HasPrefix(n.text["auto_pad"], "SAME")
	for i, size := range spatial {
		stride := at(n.ints["strides"], i, 1)
		if stride < 1 || size > maxDim || kernel[i] > maxDim {
			return nil, false
		}
		span := size + at(pads, i, 0) + at(pads, i+len(spatial), 0) - mul(at(n.ints["dilations"], i, 1), kernel[i]-1) - 1
		if at(n.ints["ceil_mode"], 0, 0) != 0 {
			span = add(max(span, 0), stride-1)
		}
		d := span/stride + 1
		if same {
			d = (size + stride - 1) / stride
		}
		if span < 0 && !same || d < 1 || d > maxDim {
			return nil, false
		}
		out = append(out, d)
	}
	return out, true
}

// shapeOf returns the shape of a weight, or nil.
func (g *onnxGraph) shapeOf(name string) []int64 {
	if t, ok := g.weights[name]; ok {
		return t.shape
	}
	return nil
}

// productShape is that of Gemm and MatMul.
func (g *onnxGraph) productShape(n *onnxNode, in []int64, sample map[string][]int64) ([]int64, bool) {
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
		return max(min(list[i], maxDim), -maxDim)
	}
	return missing
}
