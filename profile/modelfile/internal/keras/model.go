package keras

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// Read reads the JSON of a model, or a .keras archive.
func Read(in *scan.Input) (*draft.Draft, error) {
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var text []byte
	if string(head) == "PK\x03\x04" {
		text, err = unpack(in)
	} else {
		text, err = scan.Document(in)
	}
	if err != nil {
		return nil, err
	}
	top, err := decode(text)
	if err != nil {
		return nil, err
	}
	k := &model{
		file: &draft.Draft{}, unknown: map[string]bool{},
		first: bytes.Contains(text, []byte(`"channels_first"`)) || theano.Match(text),
	}
	k.file.Model.Name = top.Config.Name
	if _, err := k.model(top, nil, "", 0); err != nil {
		return nil, err
	}
	if len(k.file.Model.Layers) == 0 {
		return nil, errors.New("no layer found; want a Sequential or Functional model")
	}
	return k.file, nil
}

// model is the state of following a model.
type model struct {
	file    *draft.Draft
	unknown map[string]bool
	first   bool // channels come first in the file's shapes
	// width is the last dimension of what the layer before puts out, where its
	// whole shape is not known; 0 is unknown too.
	width int64
}

// shapeOf is the stated shape of one sample with its channels last.
func (k *model) shapeOf(raw json.RawMessage) []int64 {
	shape := shapeOf(raw)
	if k.first && len(shape) > 2 {
		shape = append(slices.Clone(shape[1:]), shape[0])
	}
	return shape
}

// model follows the layers of a Sequential or Functional model from the shape
// of its input and returns the shape of its output.
func (k *model) model(m *layer, in []int64, prefix string, depth int) ([]int64, error) {
	if depth > scan.MaxDepth {
		return nil, fmt.Errorf("models nest deeper than %d", scan.MaxDepth)
	}
	shapes := map[string][]int64{}
	last := in
	for i := range m.Config.Layers {
		l := new(layer)
		if err := json.Unmarshal(m.Config.Layers[i], l); err != nil {
			return nil, fmt.Errorf("layer %d: %w", i, fault(err))
		}
		class := l.Class
		if l.modernise() && !k.unknown[class] {
			k.unknown[class] = true
			k.file.Warn(0, "layer class %q counts as %s", reading.Clip(class), l.Class)
		}
		name := l.Name
		if name == "" {
			name = l.Config.Name
		}
		inputs := [][]int64{last}
		if names := inbound(l.Inbound); len(names) > 0 {
			inputs = inputs[:0]
			for _, from := range names {
				inputs = append(inputs, shapes[from])
			}
		}
		out, err := k.layer(l, inputs, prefix+name, depth)
		if err != nil {
			return nil, fmt.Errorf("layer %d %q: %w", i, reading.Clip(name), err)
		}
		last = out
		shapes[name] = out
	}
	return last, nil
}

// layer appends one layer and returns its output shape for one sample; nil is
// unknown.
func (k *model) layer(l *layer, inputs [][]int64, name string, depth int) ([]int64, error) {
	in := k.input(l, inputs[0])
	switch {
	case l.Class == "InputLayer":
		return in, nil
	case len(l.Config.Layers) > 0:
		return k.model(l, in, name+".", depth+1)
	case l.Config.Layer != nil:
		return k.wrapper(l, in, name, depth)
	}
	out, err := outputOf(l, in, inputs)
	if err != nil {
		return nil, err
	}
	leaf := profile.Layer{Name: name, InPlace: draft.IsView(l.Class)}
	var known bool
	leaf.Kind, known = draft.KindOfClass(l.Class)
	wide := in
	if wide == nil && k.width > 0 && len(inputs) == 1 && leaf.Kind != profile.Conv {
		wide = []int64{k.width}
	}
	leaf.Params, err = paramsOf(l, leaf.Kind, wide)
	if err != nil {
		return nil, err
	}
	switch {
	case known:
	case strings.HasSuffix(l.Class, "Lambda"):
		k.once(l.Class, "what a %s does to a shape is not known: it counts as unchanged")
		return out, nil
	case movesData(l.Class):
		return out, nil
	default:
		k.once(l.Class, "layer class %q is not known: kind other, unknown parameters, shape unchanged")
	}
	k.widen(l, leaf.Kind)
	draft.Measure(&leaf, out, false)
	k.count(l, &leaf, in)
	if !known {
		leaf.Unknown |= profile.ParamCounts
	}
	if len(out) == 0 {
		leaf.Activations, leaf.Unknown = 0, leaf.Unknown|profile.ActivationCounts
	}
	if err := k.file.Add(leaf); err != nil {
		return nil, err
	}
	return out, k.activation(l, &leaf)
}

// input is the shape that a layer gets: what it states, or else what the layer
// before puts out.
func (k *model) input(l *layer, in []int64) []int64 {
	if stated := k.shapeOf(l.Build.Input); len(stated) > 0 {
		in = stated
	}
	for _, raw := range []json.RawMessage{l.Config.Batch, l.Config.BatchInput} {
		if stated := k.shapeOf(raw); len(stated) > 0 {
			in = stated
			if k.file.SampleElements.IsZero() && scan.Mul(stated...) <= profile.MaxCount {
				k.file.SampleElements = profile.Some(scan.Mul(stated...))
			}
		}
	}
	if in == nil {
		in = l.firstInput()
	}
	return in
}

// once warns of a class, the first time.
func (k *model) once(class, format string) {
	if !k.unknown[class] {
		k.unknown[class] = true
		k.file.Warn(0, format, reading.Clip(class))
	}
}

// firstInput is the shape that the first layer of Keras 1 states; nil is unknown.
func (l *layer) firstInput() []int64 {
	switch n := listOf(l.Config.Length, 1, 0); {
	case l.Config.InputDim <= 0, l.Class == "Embedding" && n[0] <= 0:
		return nil
	case l.Class == "Embedding":
		return n
	default:
		return []int64{l.Config.InputDim}
	}
}

// widen notes the width of a layer's output.
func (k *model) widen(l *layer, kind profile.LayerKind) {
	switch c := &l.Config; {
	case l.Class == "Embedding":
		k.width = c.OutputDim
	case kind == profile.Linear || kind == profile.Recurrent:
		k.width = c.Units
	case kind == profile.Conv:
		k.width = c.Filters
	case kind == profile.Activation || kind == profile.Dropout || kind == profile.Norm || kind == profile.Pool && !strings.Contains(l.Class, "Flatten"):
	default:
		k.width = 0
	}
}

// count corrects the multiply-adds of the layers whose weights do not meet each
// output element once.
func (k *model) count(l *layer, leaf *profile.Layer, in []int64) {
	switch {
	case leaf.Kind == profile.Recurrent && len(in) > 1:
		leaf.MACs = profile.Some(scan.Mul(leaf.Params, in[0]))
	case leaf.Kind == profile.Attention && len(in) > 1:
		heads := scan.Mul(l.Config.Heads, in[0], in[0])
		leaf.Activations = scan.Add(leaf.Activations, heads)
		leaf.MACs = profile.Some(scan.Add(scan.Mul(leaf.Params, in[0]), scan.Mul(2, heads, l.Config.KeyDim)))
	}
}

// activation appends the activation that a layer's settings name.
func (k *model) activation(l *layer, of *profile.Layer) error {
	var name string
	_ = json.Unmarshal(l.Config.Activation, &name) // an object is an activation of the user's own
	if name == "" || name == "linear" || of.Kind != profile.Linear && of.Kind != profile.Conv {
		return nil
	}
	return k.file.Add(profile.Layer{Name: of.Name + "." + reading.Clip(name), Kind: profile.Activation, Activations: of.Activations})
}

// wrapper follows TimeDistributed and Bidirectional.
func (k *model) wrapper(l *layer, in []int64, name string, depth int) ([]int64, error) {
	if depth > scan.MaxDepth {
		return nil, fmt.Errorf("layers nest deeper than %d", scan.MaxDepth)
	}
	depth++
	inner := l.Config.Layer
	switch {
	case l.Class == "Bidirectional":
		if inner.Config.Layer != nil || len(inner.Config.Layers) > 0 { // read twice at each depth it would never end
			return nil, fmt.Errorf("a Bidirectional around %s: want a recurrent layer", reading.Clip(inner.Class))
		}
		width := k.width
		if _, err := k.layer(inner, [][]int64{in}, name+".forward", depth); err != nil {
			return nil, err
		}
		k.width = width
		out, err := k.layer(inner, [][]int64{in}, name+".backward", depth)
		k.width = scan.Mul(2, k.width)
		if n := len(out); n > 0 {
			out = append(append([]int64(nil), out[:n-1]...), scan.Mul(2, out[n-1]))
		}
		return out, err
	case l.Class == "TimeDistributed" && len(in) > 1:
		first := len(k.file.Model.Layers)
		out, err := k.layer(inner, [][]int64{in[1:]}, name, depth)
		for i := first; i < len(k.file.Model.Layers); i++ {
			leaf := &k.file.Model.Layers[i]
			leaf.Activations = scan.Mul(leaf.Activations, in[0])
			if macs, ok := leaf.MACs.Get(); ok {
				leaf.MACs = profile.Some(scan.Mul(macs, in[0]))
			}
			err = errors.Join(err, leaf.Validate())
		}
		return append([]int64{in[0]}, out...), err
	}
	k.file.Warn(0, "wrapper %q is not known: its layer counts as it stands", reading.Clip(l.Class))
	return k.layer(inner, [][]int64{in}, name, depth)
}

// inbound returns the names of the layers that feed a layer, in either
// version's form.
func inbound(raw json.RawMessage) []string {
	var two [][][]json.RawMessage // [[["conv", 0, 0, {}]]]
	var names []string
	if json.Unmarshal(raw, &two) == nil {
		for _, node := range two[:min(1, len(two))] {
			for _, from := range node {
				var name string
				if len(from) > 0 && json.Unmarshal(from[0], &name) == nil {
					names = append(names, name)
				}
			}
		}
		return names
	}
	for _, part := range strings.Split(string(raw), `"keras_history"`)[1:] { // ["conv", 0, 0]
		_, list, _ := strings.Cut(part, "[")
		first, _, _ := strings.Cut(list, ",")
		var name string
		if json.Unmarshal([]byte(first), &name) == nil {
			names = append(names, name)
		}
	}
	return names
}
