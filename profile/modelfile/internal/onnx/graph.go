package onnx

import (
	"fmt"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// graph is what is kept of a graph.
type graph struct {
	scan.Wire
	name     string
	nodes    []node
	weights  map[string]*tensor
	stored   []*tensor          // the weights, each once
	shapes   map[string][]int64 // value_info, batch first; -1 is open
	inputs   []string
	branches int  // of If that are left out
	bodies   bool // Loop or Scan were followed once
	depth    int
}

// elements is the number of weights that the graph stores.
func (g *graph) elements() (n int64) {
	for _, t := range g.stored {
		if t.float {
			n = scan.Add(n, scan.Mul(t.shape...))
		}
	}
	return n
}

// branch reads a graph inside a node; of several the one with the most weights is
// kept.
func (g *graph) branch(f scan.Field, n *node) error {
	if g.depth >= scan.MaxDepth {
		return fmt.Errorf("offset %d: graphs nest deeper than %d", g.In.Offset, scan.MaxDepth)
	}
	inside := &graph{Wire: g.Wire, weights: map[string]*tensor{}, shapes: map[string][]int64{}, depth: g.depth + 1}
	err := inside.Message(f.End, inside.graph)
	g.Wire = inside.Wire
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
func (g *graph) adopt(inside *graph) {
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
}

type node struct {
	name, op        string
	inputs, outputs []string
	ints            map[string][]int64
	text            map[string]string
	inside          *graph // of If, Loop and Scan
}

type tensor struct {
	name  string
	shape []int64
	float bool
	used  bool    // its elements are counted
	of    *tensor // nil, or the weight that this is another view of
}

func (g *graph) keep(name string, t *tensor) {
	g.weights[name] = t
	g.stored = append(g.stored, t)
}

// graph reads one field of a GraphProto.
func (g *graph) graph(f scan.Field) (err error) {
	if f.Kind != scan.WireBytes {
		return nil
	}
	switch f.Number {
	case 1:
		return g.node(f)
	case 2:
		g.name, err = g.Text(f)
	case 5:
		var t tensor
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

func (g *graph) node(f scan.Field) error {
	n := node{ints: map[string][]int64{}, text: map[string]string{}}
	if err := g.Hold(256); err != nil { // no more nodes than layers
		return err
	}
	err := g.Message(f.End, func(f scan.Field) error {
		switch f.Number {
		case 1, 2, 3, 4:
			s, err := g.Text(f)
			switch f.Number {
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
		g.adopt(n.inside)
		n.inside = nil
	}
	g.nodes = append(g.nodes, n)
	return err
}

// attribute reads an AttributeProto; a tensor in it becomes a weight named as
// the node's output, which is what a Constant node means.
func (g *graph) attribute(f scan.Field, n *node) error {
	var name, text string
	var ints []int64
	var value *tensor
	if f.Kind != scan.WireBytes {
		return fmt.Errorf("offset %d: an attribute is no message", g.In.Offset)
	}
	err := g.Message(f.End, func(f scan.Field) (err error) {
		switch f.Number {
		case 1:
			name, err = g.Text(f)
		case 3, 8:
			if len(ints) < scan.MaxRank*2 { // kernel, strides, pads; longer lists are data
				ints, err = g.Numbers(ints, f)
			}
		case 4:
			if f.Value <= 64 { // auto_pad and the like
				text, err = g.Text(f)
			}
		case 5:
			var t tensor
			if t, err = g.tensor(f); err == nil {
				value = &t
			}
		case 6, 11:
			if f.Kind == scan.WireBytes {
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
func (g *graph) tensor(f scan.Field) (t tensor, err error) {
	if f.Kind != scan.WireBytes {
		return t, fmt.Errorf("offset %d: a tensor is no message", g.In.Offset)
	}
	start := g.In.Offset
	err = g.Message(f.End, func(f scan.Field) (err error) {
		switch f.Number {
		case 1:
			t.shape, err = g.Numbers(t.shape, f)
		case 2:
			t.float = f.Value == 1 || f.Value == 10 || f.Value == 11 || f.Value >= 16 && f.Value <= 20
		case 8:
			t.name, err = g.Text(f)
		}
		return err
	})
	if err == nil {
		err = scan.CheckShape(t.shape)
	}
	if err != nil {
		err = fmt.Errorf("tensor %q at offset %d: %w", reading.Clip(t.name), start, err)
	}
	return t, err
}

// valueInfo reads the shape of a named value: ValueInfoProto, TypeProto, its
// Tensor and TensorShapeProto, each field 1 or 2 of the one around it.
func (g *graph) valueInfo(f scan.Field) (name string, err error) {
	var shape []int64
	err = g.Message(f.End, func(f scan.Field) (err error) {
		if f.Number == 1 {
			name, err = g.Text(f)
			return err
		}
		return g.inside(f, 2, func(f scan.Field) error {
			return g.inside(f, 1, func(f scan.Field) error {
				return g.inside(f, 2, func(f scan.Field) error {
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
func (g *graph) inside(f scan.Field, number int, visit func(scan.Field) error) error {
	if f.Number != number || f.Kind != scan.WireBytes {
		return nil
	}
	return g.Message(f.End, visit)
}

func (g *graph) dimension(f scan.Field, shape *[]int64) error {
	size := int64(-1)
	if f.Number != 1 || f.Kind != scan.WireBytes {
		return nil
	}
	err := g.Message(f.End, func(f scan.Field) error {
		if f.Number == 1 && f.Kind == scan.WireVarint && int64(f.Value) > 0 {
			size = min(int64(f.Value), scan.MaxDim)
		}
		return nil
	})
	if len(*shape) <= scan.MaxRank {
		*shape = append(*shape, size)
	}
	return err
}

func checkRank(shape []int64) bool { return len(shape) > 0 && len(shape) <= scan.MaxRank }

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
