package modelfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Format is a model file format.
type Format int

// The formats that [Read] recognises.
const (
	// UnknownFormat is none of those below.
	UnknownFormat Format = iota
	// TorchSummary is the table that the Python package torchsummary prints.
	TorchSummary
	// HuggingFace is a config.json as the transformers library writes it.
	HuggingFace
	// Safetensors is a file of weights.
	Safetensors
	// SafetensorsIndex is the list of the shards of a large model's weights.
	SafetensorsIndex
	// GGUF is a file of weights for llama.cpp and its relatives.
	GGUF
	// ONNX is a graph in the Open Neural Network Exchange format.
	ONNX
	// TorchInfo is the tree that the Python package torchinfo prints.
	TorchInfo
	// TorchPrint is what PyTorch's print(model) prints, with or without
	// parameter counts behind each module.
	TorchPrint
	// Keras is the JSON of a Keras model, or a .keras archive that holds it.
	Keras

	formats int = iota
)

//nolint:gochecknoglobals // read-only table of the formats
var formatTable = [formats]struct {
	name string
	read func(*input, *Options) (*File, error)
}{
	UnknownFormat:    {"unknown", func(*input, *Options) (*File, error) { return nil, ErrFormat }},
	TorchSummary:     {"torchsummary", readTorchSummary},
	HuggingFace:      {"huggingface", readHuggingFace},
	Safetensors:      {"safetensors", readSafetensors},
	SafetensorsIndex: {"safetensors index", readSafetensorsIndex},
	GGUF:             {"gguf", readGGUF},
	ONNX:             {"onnx", readONNX},
	TorchInfo:        {"torchinfo", readTorchInfo},
	TorchPrint:       {"torchprint", readTorchPrint},
	Keras:            {"keras", readKeras},
}

// String returns the format's name.
func (f Format) String() string {
	if f < 0 || int(f) >= formats {
		f = UnknownFormat
	}
	return formatTable[f].name
}

// ErrFormat says that a file is in no format that this package reads.
var ErrFormat = errors.New("format not recognised; want ONNX, safetensors, GGUF, a Hugging Face config.json, " +
	"Keras JSON, .keras, or text of torchsummary, torchinfo or print(model)")

// sniffBytes is how far Read looks ahead to recognise a format.
const sniffBytes = 16 << 10

// Read recognises the format of a model file from its beginning and reads it.
// It wraps [ErrFormat] where it recognises none. A reader that can seek, such as
// a file, is never read where weights lie. O(size).
func Read(r io.Reader, o *Options) (*File, error) {
	return wrap(read(newInput(r), o))
}

// ReadFile reads a model file as [Read] does. Errors name the path; a model
// without a name takes the file's, or its folder's if that is config.json. The
// index of sharded safetensors reads the shards beside it; a shard whose name
// leads into another folder is refused.
func ReadFile(path string, o *Options) (*File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	defer func() { _ = r.Close() }() // read only: nothing is lost
	in := newInput(r)
	in.path = path
	f, err := read(in, o)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %s: %w", path, err)
	}
	if f.Model.Name == "" {
		f.Model.Name = nameOfPath(path)
	}
	return f, nil
}

func read(in *input, o *Options) (*File, error) {
	head, err := in.r.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return sniff(head).read(in, o)
}

// read reads a file of format f; errors do not name the package.
func (f Format) read(in *input, o *Options) (*File, error) {
	if o == nil {
		o = &Options{}
	}
	file, err := formatTable[f].read(in, o)
	switch {
	case f == UnknownFormat:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%v: %w", f, err)
	}
	file.Format = f
	if o.Name != "" {
		file.Model.Name = o.Name
	}
	return file, nil
}

// wrap makes an error name the package.
func wrap(f *File, err error) (*File, error) {
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	return f, nil
}

func nameOfPath(path string) string {
	base := filepath.Base(path)
	if dir := filepath.Base(filepath.Dir(path)); base == "config.json" && dir != "." && dir != string(filepath.Separator) {
		return dir
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// sniff recognises a format from the beginning of a file.
func sniff(head []byte) Format {
	switch {
	case bytes.HasPrefix(head, []byte("GGUF")):
		return GGUF
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return Keras
	case len(head) > 9 && head[8] == '{' && head[5] == 0 && head[6] == 0 && head[7] == 0:
		return Safetensors // a header of less than 2^40 bytes
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(text) > 0 && text[0] == '{' {
		return sniffJSON(text)
	}
	for line := range bytes.Lines(text) {
		switch {
		case isSummaryHeader(line):
			return TorchSummary
		case isTorchInfoHeader(line):
			return TorchInfo
		}
	}
	switch {
	case isTorchPrint(text):
		return TorchPrint
	case len(head) > 2 && head[0] == 0x08 && bytes.IndexByte(head, 0x3a) > 0: // ir_version, then somewhere a graph
		return ONNX
	}
	return UnknownFormat
}

func sniffJSON(text []byte) Format {
	switch {
	case bytes.Contains(text, []byte(`"weight_map"`)):
		return SafetensorsIndex
	case bytes.Contains(text, []byte(`"class_name"`)) && bytes.Contains(text, []byte(`"config"`)):
		return Keras
	}
	return HuggingFace
}
