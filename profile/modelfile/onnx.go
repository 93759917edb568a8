package modelfile

import (
	"errors"
	"fmt"
	"strings"

	"example.com/colloc/profile"
)

func readONNX(in *input, _ *Options) (*File, error) {
	g := &onnxGraph{wire: wire{in: in}, weights: map[string]*onnxTensor{}, shapes: map[string][]int64{}}
	err := g.message(in.size, func(f field) error {
		if f.number == 7 && f.kind == wireBytes {
			return g.message(f.end, g.graph)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	file := &File{}
	file.Model.Name = g.name
	if err := g.describe(file); err != nil {
		return nil, err
	}
	if len(file.Model.Layers) == 0 {
		return nil, errors.New("the file holds no graph with layers")
	}
	return file, nil
}

// onnxGraph is what is kept of a graph.
type onnxGraph struct {
	wire
	name     string
	nodes    []onnxNode
	weights  map[string]*onnxTensor
	stored   []*onnxTensor      // the weights, each once
	shapes   map[string][]int64 // value_info, batch first; -1 is open
	inputs   []string
	branches int  // of If that are left out
	bodies   bool // Loop or Scan were followed once
	depth    int
}

// elements is the number of weights that the graph stores.
func (g *onnxGraph) elements() (n int64) {
	for _, t := range g.stored {
		if t.float {
			n = add(n, mul(t.shape...))
		}
	}
	return n
}

// branch reads a graph inside a node; of several the one with the most weights is
// kept.
func (g *onnxGraph) branch(f field, n *onnxNode) error {
	if g.depth >= MaxDepth {
		return fmt.Errorf("offset %d: graphs nest deeper than %d", g.in.offset, MaxDepth)
	}
	inside := &onnxGraph{wire: g.wire, weights: map[string]*onnxTensor{}, shapes: map[string][]int64{}, depth: g.depth + 1}
	err := inside.message(f.end, inside.graph)
	g.wire = inside.wire
	switch {
	case err != nil:
		return err
	case n.inside == nil:
		n.inside = inside
		return nil
	case inside.elements() > n.inside.elements() || inside.elements() == n.inside.elements() && len(inside.nodes) > len(n.inside.nodes):
		n.inside = inside
	}
	g.branches++
	return nil
}

// adopt takes over what a node's graph holds.
func (g *onnxGraph) adopt(inside *onnxGraph) error {
	if len(g.nodes)+len(inside.nodes) > MaxLayers {
		return fmt.Errorf("offset %d: more than %d nodes", g.in.offset, MaxLayers)
	}
	g.nodes = append(g.nodes, inside.nodes...)
	for _, t := range inside.stored {
		if _, taken := g.weights[t.name]; !taken && t.name != "" {
			g.weights[t.name] = t
		}
	}
	g.stored = append(g.stored, inside.stored...)
	for name, shape := range inside.shapes {
		if _, taken := g.shapes[name]; !taken {
			g.shapes[name] = shape
		}
	}
	g.branches += inside.branches
	g.bodies = g.bodies || inside.bodies
	return nil
}

type onnxNode struct {
	name, op        string
	inputs, outputs []string
	ints            map[string][]int64
	text            map[string]string
	inside          *onnxGraph // of If, Loop and Scan
}

type onnxTensor struct {
	name  string
	shape []int64
	float bool
	used  bool        // its elements are counted
	of    *onnxTensor // nil, or the weight that this is another view of
}

func (g *onnxGraph) keep(name string, t *onnxTensor) {
	g.weights[name] = t
	g.stored = append(g.stored, t)
}

// graph reads one field of a GraphProto.
func (g *onnxGraph) graph(f field) (err error) {
	if f.kind != wireBytes {
		return nil
	}
	switch f.number {
	case 1:
		return g.node(f)
	case 2:
		g.name, err = g.text(f)
	case 5:
		var t onnxTensor
		if t, err = g.tensor(f); err == nil {
			g.keep(t.name, &t)
		}
	case 11:
		var name string
		if name, err = g.valueInfo(f); err == nil {
			g.inputs = append(g.inputs, name)
		}
	case 12, 13:
		_, err = g.valueInfo(f)
	}
	return err
}

func (g *onnxGraph) node(f field) error {
	if len(g.nodes) >= MaxLayers {
		return fmt.Errorf("offset %d: more than %d nodes", g.in.offset, MaxLayers)
	}
	n := onnxNode{ints: map[string][]int64{}, text: map[string]string{}}
	if err := g.hold(256); err != nil {
		return err
	}
	err := g.message(f.end, func(f field) error {
		switch f.number {
		case 1, 2, 3, 4:
			s, err := g.text(f)
			switch f.number {
			case 1:
				n.inputs = append(n.inputs, s)
			case 2:
				n.outputs = append(n.outputs, s)
			case 3:
				n.name = s
			case 4:
				n.op = s
			}
			return err
		case 5:
			return g.attribute(f, &n)
		}
		return nil
	})
	if n.inside != nil && err == nil {
		g.bodies = g.bodies || n.op == "Loop" || n.op == "Scan"
		err = g.adopt(n.inside)
		n.inside = nil
	}
	g.nodes = append(g.nodes, n)
	return err
}

// attribute reads an AttributeProto; a tensor in it becomes a weight named as
// the node's output, which is what a Constant node means.
func (g *onnxGraph) attribute(f field, n *onnxNode) error {
	var name, text string
	var ints []int64
	var value *onnxTensor
	if f.kind != wireBytes {
		return fmt.Errorf("offset %d: an attribute is no message", g.in.offset)
	}
	err := g.message(f.end, func(f field) (err error) {
		switch f.number {
		case 1:
			name, err = g.text(f)
		case 3, 8:
			if len(ints) < maxRank*2 { // kernel, strides, pads; longer lists are data
				ints, err = g.numbers(ints, f)
			}
		case 4:
			if f.value <= 64 { // auto_pad and the like
				text, err = g.text(f)
			}
		case 5:
			var t onnxTensor
			if t, err = g.tensor(f); err == nil {
				value = &t
			}
		case 6, 11:
			if f.kind == wireBytes {
				err = g.branch(f, n)
			}
		}
		return err
	})
	if value != nil && n.op == "Constant" {
		for _, out := range n.outputs {
			value.name = out
			g.keep(out, value)
		}
	}
	if name != "" {
		n.ints[name], n.text[name] = ints, text
	}
	return err
}

// tensor reads a TensorProto without its data.
func (g *onnxGraph) tensor(f field) (t onnxTensor, err error) {
	if f.kind != wireBytes {
		return t, fmt.Errorf("offset %d: a tensor is no message", g.in.offset)
	}
	start := g.in.offset
	err = g.message(f.end, func(f field) (err error) {
		switch f.number {
		case 1:
			t.shape, err = g.numbers(t.shape, f)
		case 2:
			t.float = f.value == 1 || f.value == 10 || f.value == 11 || f.value >= 16 && f.value <= 20
		case 8:
			t.name, err = g.text(f)
		}
		return err
	})
	if err == nil {
		err = checkShape(t.shape)
	}
	if err != nil {
		err = fmt.Errorf("tensor %q at offset %d: %w", clip(t.name), start, err)
	}
	return t, err
}

// valueInfo reads the shape of a named value: ValueInfoProto, TypeProto, its
// Tensor and TensorShapeProto, each field 1 or 2 of the one around it.
func (g *onnxGraph) valueInfo(f field) (name string, err error) {
	var shape []int64
	err = g.message(f.end, func(f field) (err error) {
		if f.number == 1 {
			name, err = g.text(f)
			return err
		}
		return g.inside(f, 2, func(f field) error {
			return g.inside(f, 1, func(f field) error {
				return g.inside(f, 2, func(f field) error {
					return g.dimension(f, &shape)
				})
			})
		})
	})
	if err == nil && checkRank(shape) {
		g.shapes[name] = shape
	}
	return name, err
}

// inside visits the fields of a nested message if f has the given number.
func (g *onnxGraph) inside(f field, number int, visit func(field) error) error {
	if f.number != number || f.kind != wireBytes {
		return nil
	}
	return g.message(f.end, visit)
}

func (g *onnxGraph) dimension(f field, shape *[]int64) error {
	size := int64(-1)
	if f.number != 1 || f.kind != wireBytes {
		return nil
	}
	err := g.message(f.end, func(f field) error {
		if f.number == 1 && f.kind == wireVarint && int64(f.value) > 0 {
			size = min(int64(f.value), maxDim)
		}
		return nil
	})
	if len(*shape) <= maxRank {
		*shape = append(*shape, size)
	}
	return err
}

func checkRank(shape []int64) bool { return len(shape) > 0 && len(shape) <= maxRank }

// kindOfOp returns the layer kind of an operator.
func kindOfOp(op string) profile.LayerKind {
	switch {
	case op == "Conv" || op == "ConvTranspose" || op == "ConvInteger" || op == "DeformConv":
		return profile.Conv
	case op == "Gemm" || op == "MatMul" || op == "FusedMatMul":
		return profile.Linear
	case strings.HasSuffix(op, "Normalization") || op == "LRN":
		return profile.Norm
	case strings.HasSuffix(op, "Pool"):
		return profile.Pool
	case op == "Dropout":
		return profile.Dropout
	case op == "LSTM" || op == "GRU" || op == "RNN":
		return profile.Recurrent
	case op == "Attention" || op == "MultiHeadAttention" || op == "GroupQueryAttention":
		return profile.Attention
	}
	switch op {
	case "Relu", "LeakyRelu", "PRelu", "Elu", "Selu", "Celu", "ThresholdedRelu", "Sigmoid", "HardSigmoid", "HardSwish",
		"Tanh", "Softmax", "LogSoftmax", "Softplus", "Softsign", "Gelu", "FastGelu", "QuickGelu", "Mish", "Swish", "Clip", "Erf":
		return profile.Activation
	}
	return profile.OtherLayer
}
