package modelfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"example.com/colloc/internal/regular"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/hf"
	"example.com/colloc/profile/modelfile/internal/keras"
	"example.com/colloc/profile/modelfile/internal/onnx"
	"example.com/colloc/profile/modelfile/internal/scan"
	"example.com/colloc/profile/modelfile/internal/table"
	"example.com/colloc/profile/modelfile/internal/torchprint"
	"example.com/colloc/profile/modelfile/internal/weights"
)

//nolint:gochecknoglobals // read-only table of the formats
var formatTable = [formats]struct {
	name string
	read func(*scan.Input, *Options) (*draft.Draft, error)
}{
	UnknownFormat:    {"unknown", func(*scan.Input, *Options) (*draft.Draft, error) { return nil, ErrFormat }},
	TorchSummary:     {"torchsummary", plain(table.ReadSummary)},
	HuggingFace:      {"huggingface", readConfig},
	Safetensors:      {"safetensors", plain(weights.ReadSafetensors)},
	SafetensorsIndex: {"safetensors index", plain(weights.ReadIndex)},
	GGUF:             {"gguf", plain(weights.ReadGGUF)},
	ONNX:             {"onnx", plain(onnx.Read)},
	TorchInfo:        {"torchinfo", plain(table.ReadInfo)},
	TorchPrint:       {"torchprint", plain(torchprint.Read)},
	Keras:            {"keras", plain(keras.Read)},
	KerasSummary:     {"keras summary", plain(table.ReadKeras)},
}

// String returns the format's name.
func (f Format) String() string {
	if uint(f) >= uint(formats) { // or negative
		f = UnknownFormat
	}
	return formatTable[f].name
}

// Read recognises the format of a model file from its beginning and reads it.
// It wraps [ErrFormat] where it recognises none. Text may be UTF-16 with a byte order
// mark, as PowerShell writes it. A reader that can seek, such as
// a file, is never read where weights lie. O(size).
func Read(r io.Reader, o *Options) (*File, error) {
	f, err := read(scan.NewInput(r), o)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	return f, nil
}

// ReadFile reads a model file as [Read] does. Errors name the path; a model
// without a name takes the file's, or its folder's if that is config.json. The
// index of sharded safetensors reads the shards beside it; a shard whose name
// leads into another folder is refused.
func ReadFile(path string, o *Options) (*File, error) {
	r, err := regular.Named(path)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	defer func() { _ = r.Close() }() // read only: nothing is lost
	in := scan.NewInput(r)
	in.Path = path
	f, err := read(in, o)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %s: %w", path, err)
	}
	if f.Model.Name == "" {
		f.Model.Name = nameOfPath(path)
	}
	return f, nil
}

func read(in *scan.Input, o *Options) (*File, error) {
	head, err := in.Peek(scan.Ahead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := foreignFault(head); err != nil {
		return nil, err
	}
	if reading.IsUTF16(head) {
		path := in.Path
		in = scan.NewInput(reading.UTF8(in))
		in.Path = path
		if head, err = in.Peek(scan.Ahead); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return sniff(head).read(in, o)
}

// read reads a file of format f; errors do not name the package.
func (f Format) read(in *scan.Input, o *Options) (*File, error) {
	if o == nil {
		o = &Options{}
	}
	d, err := formatTable[f].read(in, o)
	switch {
	case f == UnknownFormat:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%v: %w", f, err)
	}
	file := &File{Format: f, Model: d.Model, TotalParams: d.TotalParams, SampleElements: d.SampleElements, BatchSize: d.BatchSize}
	for _, w := range d.Warnings {
		file.Warnings = append(file.Warnings, Warning(w))
	}
	if o.Name != "" {
		file.Model.Name = o.Name
	}
	return file, nil
}

// plain is a reader that no option changes.
func plain(reader func(*scan.Input) (*draft.Draft, error)) func(*scan.Input, *Options) (*draft.Draft, error) {
	return func(in *scan.Input, _ *Options) (*draft.Draft, error) { return reader(in) }
}

func readConfig(in *scan.Input, o *Options) (*draft.Draft, error) {
	return hf.Read(in, hf.Options{SequenceLength: o.SequenceLength, Head: hf.Head(o.Head)})
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
	case len(head) > 8 && head[8] == '{' && binary.LittleEndian.Uint64(head) < 1<<40: // bytes of header
		return Safetensors
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(text) > 0 && text[0] == '{' {
		return sniffJSON(text)
	}
	for line := range bytes.Lines(text) {
		switch {
		case table.IsInfoHeader(line):
			return TorchInfo
		case table.IsSummaryHeader(line):
			return sniffTable(text)
		}
	}
	switch {
	case torchprint.Is(text):
		return TorchPrint
	case bytes.HasPrefix(head, []byte{0x08}) && bytes.Contains(head, []byte{0x3a}): // ir_version, then somewhere a graph
		return ONNX
	}
	return UnknownFormat
}

// sniffTable tells apart the tables headed Layer (type), Output Shape, Param #:
// Keras names the model, writes shapes as tuples or draws lines, torchsummary numbers
// its rows, and torchinfo can be told to do neither.
func sniffTable(text []byte) Format {
	_, rows, _ := bytes.Cut(text, []byte("Param #"))
	if bytes.Contains(rows, []byte("(None")) || bytes.Contains(text, []byte("┃")) || bytes.Contains(text, []byte(`Model: "`)) {
		return KerasSummary
	}
	for line := range bytes.Lines(rows) {
		name, _, shaped := strings.Cut(string(bytes.TrimSpace(line)), "[")
		if !shaped {
			continue
		}
		if at := strings.LastIndexByte(name, '-'); at > 0 && len(strings.Trim(name[at+1:], "0123456789 ")) == 0 {
			return TorchSummary
		}
		return TorchInfo
	}
	return TorchSummary
}

func sniffJSON(text []byte) Format {
	switch {
	case bytes.Contains(text, []byte(`"modelTopology"`)):
		return Keras
	case bytes.Contains(text, []byte(`"weight_map"`)):
		return SafetensorsIndex
	case bytes.Contains(text, []byte(`"class_name"`)) && bytes.Contains(text, []byte(`"config"`)):
		return Keras
	}
	return HuggingFace
}
