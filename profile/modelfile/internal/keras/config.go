package keras

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// theano is how Keras 1 says that channels come first.
var theano = regexp.MustCompile(`"dim_ordering"\s*:\s*"th"`)

// decode decodes the outermost object: a model, or what TensorFlow.js and old
// files of weights put around one.
func decode(text []byte) (*layer, error) {
	for range 3 {
		var around struct {
			Topology json.RawMessage `json:"modelTopology"`
			Config   json.RawMessage `json:"model_config"`
			Node     json.RawMessage `json:"node"`
			Class    string          `json:"class_name"`
		}
		if err := json.Unmarshal(text, &around); err != nil {
			return nil, fault(err)
		}
		switch {
		case around.Topology != nil:
			text = around.Topology
		case around.Config != nil:
			text = around.Config
		case around.Node != nil:
			return nil, errors.New("a TensorFlow graph, not layers of Keras: " + draft.WayOut)
		case around.Class == "Tokenizer" || around.Class == "TimeseriesGenerator":
			return nil, fmt.Errorf("a Keras %s, not a model", around.Class)
		}
	}
	top := new(layer)
	if err := json.Unmarshal(text, top); err != nil {
		return nil, fault(err)
	}
	return top, nil
}

// fault puts an error of decoding into words about the file.
func fault(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("offset %d: %w", syntax.Offset, err)
	case errors.As(err, &kind):
		field := kind.Field[strings.LastIndexByte(kind.Field, '.')+1:]
		return fmt.Errorf("%q is of type %s: not the JSON of a Keras model", field, kind.Value) // its offset counts from the layer
	default:
		return err
	}
}

// unpack returns config.json of a .keras archive. What it unpacks is
// limited, whatever the archive says of sizes.
func unpack(in *scan.Input) ([]byte, error) {
	at, size := in.At(), in.Size
	if at == nil {
		data, err := scan.Document(in)
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
		if strings.HasSuffix(entry.Name, "/data.pkl") {
			return nil, errors.New("the archive is a checkpoint of PyTorch's torch.save, which is code: " + draft.WayOut)
		}
		if entry.Name != "config.json" {
			continue
		}
		r, err := entry.Open()
		if err != nil {
			return nil, fmt.Errorf("config.json: %w", err)
		}
		defer func() { _ = r.Close() }() // read only: nothing is lost
		text, err := scan.Document(r)
		if err != nil {
			return nil, fmt.Errorf("config.json: %w", err)
		}
		return text, nil
	}
	return nil, errors.New("the archive holds no config.json")
}

// layer is the JSON of a layer; a model is a layer with layers.
type layer struct {
	Class   string          `json:"class_name"`
	Name    string          `json:"name"`
	Inbound json.RawMessage `json:"inbound_nodes"`
	Build   struct {
		Input json.RawMessage `json:"input_shape"`
	} `json:"build_config"`
	Config config `json:"config"`
}

// config holds the settings that matter. What has another type from class to
// class stays raw.
type config struct {
	Name           string            `json:"name"`
	Layers         []json.RawMessage `json:"layers"` // decoded one at a time, to bound memory
	Layer          *layer            `json:"layer"`  // of a wrapper
	Batch          json.RawMessage   `json:"batch_shape"`
	BatchInput     json.RawMessage   `json:"batch_input_shape"`
	Filters        int64             `json:"filters"`
	Units          int64             `json:"units"`
	InputDim       int64             `json:"input_dim"`
	OutputDim      int64             `json:"output_dim"`
	Multiplier     int64             `json:"depth_multiplier"`
	Groups         int64             `json:"groups"`
	Heads          int64             `json:"num_heads"`
	KeyDim         int64             `json:"key_dim"`
	ValueDim       int64             `json:"value_dim"`
	Kernel         json.RawMessage   `json:"kernel_size"`
	Strides        json.RawMessage   `json:"strides"`
	Dilation       json.RawMessage   `json:"dilation_rate"`
	Pool           json.RawMessage   `json:"pool_size"`
	PadBy          json.RawMessage   `json:"padding"` // a word, or the amounts of ZeroPadding
	Size           json.RawMessage   `json:"size"`
	Target         json.RawMessage   `json:"target_shape"`
	Axis           json.RawMessage   `json:"axis"`
	SharedAxes     []int64           `json:"shared_axes"` // of PReLU
	Mode           json.RawMessage   `json:"mode"`        // of Merge
	Length         json.RawMessage   `json:"input_length"`
	Activation     json.RawMessage   `json:"activation"`
	UseBias        json.RawMessage   `json:"use_bias"`
	Center         json.RawMessage   `json:"center"`
	Scale          json.RawMessage   `json:"scale"` // a switch, or the factor of Rescaling
	ResetAfter     json.RawMessage   `json:"reset_after"`
	InnerInit      json.RawMessage   `json:"inner_init"` // of Keras 1
	Sequences      bool              `json:"return_sequences"`
	Implementation json.RawMessage   `json:"implementation"`
	KeepDims       bool              `json:"keepdims"`
}

// UnmarshalJSON reads the settings, those of Keras 1 under their names in
// Keras 2; before Keras 2.2.3 those of a Sequential model were the list of its
// layers.
func (c *config) UnmarshalJSON(data []byte) error {
	type plain config
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return json.Unmarshal(data, &c.Layers)
	}
	if err := json.Unmarshal(data, (*plain)(c)); err != nil {
		return err
	}
	var old struct {
		Filters    int64           `json:"nb_filter"`
		Rows       int64           `json:"nb_row"`
		Columns    int64           `json:"nb_col"`
		Length     int64           `json:"filter_length"`
		Strides    json.RawMessage `json:"subsample"`
		Stride     json.RawMessage `json:"subsample_length"`
		PoolLength json.RawMessage `json:"pool_length"`
		Border     json.RawMessage `json:"border_mode"`
		Bias       json.RawMessage `json:"bias"`
	}
	if err := json.Unmarshal(data, &old); err != nil {
		return err
	}
	c.Filters = max(c.Filters, old.Filters)
	switch {
	case old.Rows > 0 && old.Columns > 0:
		c.Kernel, _ = json.Marshal([]int64{old.Rows, old.Columns})
	case old.Length > 0:
		c.Kernel, _ = json.Marshal(old.Length)
	}
	for _, r := range []struct{ to, from *json.RawMessage }{
		{&c.Strides, &old.Strides}, {&c.Strides, &old.Stride}, {&c.Pool, &old.PoolLength}, {&c.PadBy, &old.Border}, {&c.UseBias, &old.Bias},
	} {
		if *r.to == nil {
			*r.to = *r.from
		}
	}
	return nil
}

// modernise gives a layer of Keras 1, or of a library for quantised networks, the
// class that it would have in Keras, and reports whether it had another.
func (l *layer) modernise() bool {
	c := &l.Config
	switch l.Class {
	case "Convolution1D", "Convolution2D", "Convolution3D", "AtrousConvolution1D", "AtrousConvolution2D":
		l.Class = "Conv" + l.Class[len(l.Class)-2:]
	case "Deconvolution2D":
		l.Class = "Conv2DTranspose"
	case "SeparableConvolution2D":
		l.Class = "SeparableConv2D"
	case "TimeDistributedDense":
		l.Class = "Dense"
	case "Merge":
		l.Class = "Add"
		if strings.Contains(string(c.Mode), "concat") {
			l.Class = "Concatenate"
		}
	}
	if c.Units == 0 && l.Class != "Embedding" {
		switch l.Class {
		case "Dense", "LSTM", "GRU", "SimpleRNN":
			c.Units = c.OutputDim
		}
	}
	if l.Class == "GRU" && c.ResetAfter == nil && (c.InnerInit != nil || c.Implementation != nil) {
		c.ResetAfter = json.RawMessage("false") // the first versions did not know it
	}
	if _, known := draft.KindOfClass(l.Class); known || c.Units == 0 && c.Filters == 0 && !strings.HasSuffix(l.Class, "Activation") &&
		!strings.HasSuffix(l.Class, "BatchNormalization") {
		return false
	}
	for _, suffix := range []string{"Dense", "SeparableConv2D", "SeparableConv1D", "DepthwiseConv2D", "Conv1D", "Conv2D", "Conv3D", "BatchNormalization", "Activation", "LSTM", "GRU", "SimpleRNN"} {
		if strings.HasSuffix(l.Class, suffix) {
			l.Class = suffix
			return true
		}
	}
	return false
}
