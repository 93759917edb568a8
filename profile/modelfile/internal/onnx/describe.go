package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// Read reads a graph without its weights.
func Read(in *scan.Input) (*draft.Draft, error) {
	g := &graph{Wire: scan.Wire{In: in}, weights: map[string]*tensor{}, shapes: map[string][]int64{}}
	err := g.Message(in.Size, func(f scan.Field) error {
		if f.Number == 7 && f.Kind == scan.WireBytes {
			return g.Message(f.End, g.graph)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	file := &draft.Draft{}
	file.Model.Name = g.name
	if err := g.describe(file); err != nil {
		return nil, err
	}
	if len(file.Model.Layers) == 0 {
		return nil, g.empty()
	}
	return file, nil
}

// empty says why a graph has no leaf.
func (g *graph) empty() error {
	if len(g.nodes) == 0 {
		return errors.New("the file holds no graph with operators")
	}
	var ops []string
	for i := range g.nodes {
		if op := g.nodes[i].op; len(ops) < 5 && !slices.Contains(ops, op) {
			ops = append(ops, op)
		}
	}
	if n := g.elements(); n > 0 {
		return fmt.Errorf("no layer found: none of the graph's %d operators (%s) is a layer of a network or reads the %d stored elements",
			len(g.nodes), reading.Clip(strings.Join(ops, ", ")), n)
	}
	return fmt.Errorf("no layer found: of the graph's %d operators (%s) none is a layer of a network or holds weights",
		len(g.nodes), reading.Clip(strings.Join(ops, ", ")))
}

// describe turns the nodes into leaves, in the order of the file, which ONNX
// demands to be an order of computing.
func (g *graph) describe(f *draft.Draft) error {
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
		statistics = scan.Add(statistics, constants)
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
			draft.Measure(&l, shape, true)
		} else {
			unknown++
			l.Unknown |= profile.ActivationCounts
		}
		if err := f.Add(l); err != nil {
			return err
		}
	}
	g.totals(f, statistics, unknown)
	if madeUp > 0 {
		f.Warn(0, "%d layers have weights that the graph makes when it runs: their parameters are unknown", madeUp)
	}
	return nil
}

// layer returns what a node with params parameters is. Those that it takes from
// constants made at run time are unknown.
func (g *graph) layer(n *node, params int64, made map[string]bool) profile.Layer {
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
func readsMade(n *node, kind profile.LayerKind, made map[string]bool) bool {
	switch kind {
	case profile.Linear, profile.Conv, profile.Norm, profile.Recurrent:
		return len(n.inputs) > 1 && made[n.inputs[1]]
	default:
		return false
	}
}

// samples returns the shapes of the graph's inputs for one sample.
func (g *graph) samples(f *draft.Draft) map[string][]int64 {
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
		if n := scan.Mul(shape[1:]...); n <= profile.MaxCount && f.SampleElements.IsZero() {
			f.SampleElements = profile.Some(n)
		}
	}
	return sample
}

// view follows the nodes that hand a weight on in another form, as exporters
// write for tied and for quantised weights.
func (g *graph) view(n *node) bool {
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
		t = &tensor{shape: slices.Clone(t.shape), float: t.float, of: t.root()}
		slices.Reverse(t.shape)
	default:
		return false
	}
	g.weights[n.outputs[0]] = t
	return true
}

// root is the weight as it is stored.
func (t *tensor) root() *tensor {
	if t.of != nil {
		return t.of
	}
	return t
}

// weighted says whether an input of the node is a weight.
func (g *graph) weighted(n *node) bool {
	for _, in := range n.inputs {
		if t, ok := g.weights[in]; ok && len(t.shape) > 0 {
			return true
		}
	}
	return false
}

// params counts the weights that the node is the first to use: trained ones,
// and statistics.
func (g *graph) params(n *node) (trained, statistics int64) {
	for i, in := range n.inputs {
		w, ok := g.weights[in]
		if !ok || w.root().used || !w.float || len(w.shape) == 0 {
			continue
		}
		t := w.root()
		t.used = true
		if n.op == "BatchNormalization" && i >= 3 {
			statistics = scan.Add(statistics, scan.Mul(t.shape...))
		} else {
			trained = scan.Add(trained, scan.Mul(t.shape...))
		}
	}
	return trained, statistics
}

func (g *graph) totals(f *draft.Draft, statistics int64, unknown int) {
	var total, unread int64
	for _, t := range g.stored {
		if t.float && len(t.shape) > 0 {
			total = scan.Add(total, scan.Mul(t.shape...))
			if !t.used {
				unread = scan.Add(unread, scan.Mul(t.shape...))
			}
		}
	}
	if unread > 0 {
		f.Warn(0, "%d of %d stored elements are read by no layer and left out", unread, total)
	}
	if total <= profile.MaxCount {
		f.TotalParams = profile.Some(total)
	}
	if statistics > 0 {
		f.Warn(0, "%d of %d initializer elements are statistics of batch norms and no parameters", statistics, total)
	}
	if unknown > 0 {
		f.Warn(0, "%d layers have no known output shape and unknown activations: run ONNX shape inference first", unknown)
	}
	if g.branches > 0 {
		f.Warn(0, "%d branches of If are left out; of each the one with the most weights is described", g.branches)
	}
	if g.bodies {
		f.Warn(0, "the body of Loop or Scan counts once")
	}
}
