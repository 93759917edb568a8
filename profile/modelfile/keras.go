package modelfile

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"example.com/colloc/profile"
)

func readKeras(in *input, _ *Options) (*File, error) {
	head, err := in.r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var text []byte
	if string(head) == "PK\x03\x04" {
		text, err = kerasArchive(in)
	} else {
		text, err = readText(in)
	}
	if err != nil {
		return nil, err
	}
	var top kerasLayer
	if err := json.Unmarshal(text, &top); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("offset %d: %w", syntax.Offset, err)
		}
		return nil, err
	}
	k := &kerasModel{file: &File{}, unknown: map[string]bool{}}
	k.file.Model.Name = top.Config.Name
	if _, err := k.model(&top, nil, "", 0); err != nil {
		return nil, err
	}
	if len(k.file.Model.Layers) == 0 {
		return nil, errors.New("no layer found; want a Sequential or Functional model")
	}
	return k.file, nil
}

// kerasArchive returns config.json of a .keras archive. What it unpacks is
// limited, whatever the archive says of sizes.
func kerasArchive(in *input) ([]byte, error) {
	var at io.ReaderAt
	size := in.size
	if under, ok := in.under.(io.ReaderAt); ok && in.seeker != nil {
		at = io.NewSectionReader(under, in.base, size)
	} else {
		data, err := readText(in)
		if err != nil {
			return nil, fmt.Errorf("%w; a larger archive needs a reader that can seek, such as a file", err)
		}
		at, size = bytes.NewReader(data), int64(len(data))
	}
	z, err := zip.NewReader(at, size)
	if err != nil {
		return nil, err
	}
	for _, entry := range z.File {
		if entry.Name != "config.json" {
			continue
		}
		r, err := entry.Open()
		if err != nil {
			return nil, fmt.Errorf("config.json: %w", err)
		}
		defer func() { _ = r.Close() }() // read only: nothing is lost
		text, err := readText(r)
		if err != nil {
			return nil, fmt.Errorf("config.json: %w", err)
		}
		return text, nil
	}
	return nil, errors.New("the archive holds no config.json")
}

// kerasLayer is the JSON of a layer; a model is a layer with layers.
type kerasLayer struct {
	Class   string          `json:"class_name"`
	Name    string          `json:"name"`
	Inbound json.RawMessage `json:"inbound_nodes"`
	Build   struct {
		Input json.RawMessage `json:"input_shape"`
	} `json:"build_config"`
	Config kerasConfig `json:"config"`
}

// kerasConfig holds the settings that matter. What has another type from class to
// class stays raw.
type kerasConfig struct {
	Name       string            `json:"name"`
	Layers     []json.RawMessage `json:"layers"` // decoded one at a time, to bound memory
	Layer      *kerasLayer       `json:"layer"`  // of a wrapper
	Batch      json.RawMessage   `json:"batch_shape"`
	BatchInput json.RawMessage   `json:"batch_input_shape"`
	Filters    int64             `json:"filters"`
	Units      int64             `json:"units"`
	InputDim   int64             `json:"input_dim"`
	OutputDim  int64             `json:"output_dim"`
	Multiplier int64             `json:"depth_multiplier"`
	Groups     int64             `json:"groups"`
	Heads      int64             `json:"num_heads"`
	KeyDim     int64             `json:"key_dim"`
	ValueDim   int64             `json:"value_dim"`
	Kernel     json.RawMessage   `json:"kernel_size"`
	Strides    json.RawMessage   `json:"strides"`
	Dilation   json.RawMessage   `json:"dilation_rate"`
	Pool       json.RawMessage   `json:"pool_size"`
	PadBy      json.RawMessage   `json:"padding"` // a word, or the amounts of ZeroPadding
	Size       json.RawMessage   `json:"size"`
	Target     json.RawMessage   `json:"target_shape"`
	Axis       json.RawMessage   `json:"axis"`
	Activation json.RawMessage   `json:"activation"`
	UseBias    json.RawMessage   `json:"use_bias"`
	Center     json.RawMessage   `json:"center"`
	Scale      json.RawMessage   `json:"scale"` // a switch, or the factor of Rescaling
	ResetAfter json.RawMessage   `json:"reset_after"`
	Sequences  bool              `json:"return_sequences"`
	KeepDims   bool              `json:"keepdims"`
}

// kerasModel is the state of following a model.
type kerasModel struct {
	file    *File
	unknown map[string]bool
}

// model follows the layers of a Sequential or Functional model from the shape
// of its input and returns the shape of its output.
func (k *kerasModel) model(m *kerasLayer, in []int64, prefix string, depth int) ([]int64, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("models nest deeper than %d", MaxDepth)
	}
	shapes := map[string][]int64{}
	last := in
	for i := range m.Config.Layers {
		l := new(kerasLayer)
		if err := json.Unmarshal(m.Config.Layers[i], l); err != nil {
			return nil, fmt.Errorf("layer %d: %w", i, err)
		}
		name := l.Name
		if name == "" {
			name = l.Config.Name
		}
		inputs := [][]int64{last}
		if names := kerasInbound(l.Inbound); len(names) > 0 {
			inputs = inputs[:0]
			for _, from := range names {
				inputs = append(inputs, shapes[from])
			}
		}
		out, err := k.layer(l, inputs, prefix+name, depth)
		if err != nil {
			return nil, fmt.Errorf("layer %d %q: %w", i, clip(name), err)
		}
		last = out
		shapes[name] = out
	}
	return last, nil
}

// layer appends one layer and returns its output shape for one sample; nil is
// unknown.
func (k *kerasModel) layer(l *kerasLayer, inputs [][]int64, name string, depth int) ([]int64, error) {
	in := inputs[0]
	if stated := shapeOf(l.Build.Input); len(stated) > 0 {
		in = stated
	}
	for _, raw := range []json.RawMessage{l.Config.Batch, l.Config.BatchInput} {
		if stated := shapeOf(raw); len(stated) > 0 {
			in = stated
			if k.file.SampleElements.IsZero() && mul(stated...) <= profile.MaxCount {
				k.file.SampleElements = profile.Some(mul(stated...))
			}
		}
	}
	switch {
	case l.Class == "InputLayer":
		return in, nil
	case len(l.Config.Layers) > 0:
		return k.model(l, in, name+".", depth+1)
	case l.Config.Layer != nil:
		return k.wrapper(l, in, name, depth)
	}
	out, err := kerasShape(l, in, inputs)
	if err != nil {
		return nil, err
	}
	leaf := profile.Layer{Name: name, InPlace: isView(l.Class)}
	var known bool
	leaf.Kind, known = kindOfClass(l.Class)
	leaf.Params, err = kerasParams(l, leaf.Kind, in)
	if err != nil {
		return nil, err
	}
	if !known && !kerasView(l.Class) && !k.unknown[l.Class] && len(k.unknown) < maxWarnings {
		k.unknown[l.Class] = true
		k.file.warn(0, "layer class %q is not known: kind other, unknown parameters, shape unchanged", clip(l.Class))
	}
	if !known && kerasView(l.Class) {
		return out, nil
	}
	measure(&leaf, out, false)
	k.count(l, &leaf, in)
	if !known {
		leaf.Unknown |= profile.ParamCounts
	}
	if len(out) == 0 {
		leaf.Activations, leaf.Unknown = 0, leaf.Unknown|profile.ActivationCounts
	}
	if err := k.file.add(leaf); err != nil {
		return nil, err
	}
	return out, k.activation(l, &leaf)
}

// count corrects the multiply-adds of the layers whose weights do not meet each
// output element once.
func (k *kerasModel) count(l *kerasLayer, leaf *profile.Layer, in []int64) {
	switch {
	case leaf.Kind == profile.Recurrent && len(in) > 1:
		leaf.MACs = profile.Some(mul(leaf.Params, in[0]))
	case leaf.Kind == profile.Attention && len(in) > 1:
		heads := mul(l.Config.Heads, in[0], in[0])
		leaf.Activations = add(leaf.Activations, heads)
		leaf.MACs = profile.Some(add(mul(leaf.Params, in[0]), mul(2, heads, l.Config.KeyDim)))
	}
}

// activation appends the activation that a layer's settings name.
func (k *kerasModel) activation(l *kerasLayer, of *profile.Layer) error {
	var name string
	_ = json.Unmarshal(l.Config.Activation, &name) // an object is an activation of the user's own
	if name == "" || name == "linear" || of.Kind != profile.Linear && of.Kind != profile.Conv {
		return nil
	}
	return k.file.add(profile.Layer{Name: of.Name + "." + clip(name), Kind: profile.Activation, Activations: of.Activations})
}

// wrapper follows TimeDistributed and Bidirectional.
func (k *kerasModel) wrapper(l *kerasLayer, in []int64, name string, depth int) ([]int64, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("layers nest deeper than %d", MaxDepth)
	}
	switch {
	case l.Class == "Bidirectional":
		if _, err := k.layer(l.Config.Layer, [][]int64{in}, name+".forward", depth+1); err != nil {
			return nil, err
		}
		out, err := k.layer(l.Config.Layer, [][]int64{in}, name+".backward", depth+1)
		if n := len(out); n > 0 {
			out = append(append([]int64(nil), out[:n-1]...), mul(2, out[n-1]))
		}
		return out, err
	case l.Class == "TimeDistributed" && len(in) > 1:
		first := len(k.file.Model.Layers)
		out, err := k.layer(l.Config.Layer, [][]int64{in[1:]}, name, depth+1)
		for i := first; i < len(k.file.Model.Layers); i++ {
			inner := &k.file.Model.Layers[i]
			inner.Activations = mul(inner.Activations, in[0])
			if macs, ok := inner.MACs.Get(); ok {
				inner.MACs = profile.Some(mul(macs, in[0]))
			}
			err = errors.Join(err, inner.Validate())
		}
		return append([]int64{in[0]}, out...), err
	}
	k.file.warn(0, "wrapper %q is not known: its layer counts as it stands", clip(l.Class))
	return k.layer(l.Config.Layer, [][]int64{in}, name, depth+1)
}

// kerasInbound returns the names of the layers that feed a layer, in either
// version's form.
func kerasInbound(raw json.RawMessage) []string {
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
