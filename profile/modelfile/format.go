package modelfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
	return wrap(read(scan.NewInput(r), o))
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
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		if in, err = scan.FromUTF16(in); err != nil {
			return nil, err
		}
		head, _ = in.Peek(scan.Ahead) // of memory: it may be shorter
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

// ReadGGUF reads the head of a GGUF file, versions 2 and 3: metadata and the
// names and shapes of its tensors, never their data. Layers are made as
// [ReadSafetensors] makes them; quantised tensors count their elements. A model
// without an output tensor ties it to the token embedding, which a warning says.
// The format is described at https://github.com/ggml-org/ggml (docs/gguf.md).
// O(head).
func ReadGGUF(r io.Reader, o *Options) (*File, error) {
	return wrap(GGUF.read(scan.NewInput(r), o))
}

// ReadHuggingFace reads a config.json as the transformers library writes it and
// builds the leaves that the library would: the parameter count is exact for
// the model types
//
//	albert, baichuan, bart, bert, bloom, camembert, chatglm, clip, codegen, cohere, deberta-v2, deepseek_v2, deepseek_v3,
//	deepseek_v32, deit, distilbert, dpr, electra, falcon, gemma, gemma2, gemma3_text, glm_moe_dsa, gpt2, gpt_bigcode, gptj,
//	gpt_neo, gpt_neox, gpt_oss, granite, internlm2, kimi_k2, llama, llama4_text, marian, mbart, mistral, mixtral, mpt, mt5,
//	nemotron_h, nemotron-nas, olmo2, olmoe, opt, phi, phi3, qwen, qwen2, qwen2_moe, qwen3, qwen3_5_text, qwen3_5_moe_text,
//	qwen3_moe, qwen3_next, roberta, smollm3, stablelm, starcoder2, t5, vit, whisper, xlm-roberta
//
// and within a hundredth for mimo_v2_flash and minimax_m2. Any other type, and a known one with a
// setting that makes it another network, is refused with the reason. Of a type
// that holds several models the text model is described and the others are
// unknown. What stands on top follows architectures: a classifier, a language
// model's head, an encoder alone. Infinity and NaN, which Python writes, are read.
// Tied weights are counted once, where they are first used. Activations are for
// one sample of Options.SequenceLength tokens, or one image. An Attention leaf
// stands for scores and softmax: heads × queries × keys elements, and
// 2 × queries × keys × width multiply-adds for scores and mix (no saving for
// causal masks is assumed). O(layers).
func ReadHuggingFace(r io.Reader, o *Options) (*File, error) {
	return wrap(HuggingFace.read(scan.NewInput(r), o))
}

// ReadKeras reads the architecture of a Keras 2 or 3 model: the JSON that
// to_json writes, or a .keras archive, of which it opens config.json alone.
// Sequential and Functional models, also nested ones, are followed layer by
// layer; parameters follow from layer settings and shapes and are exact for
// dense, convolution (depthwise and separable too), normalisation, embedding,
// recurrent and MultiHeadAttention layers. The moving statistics of
// BatchNormalization are not parameters. A layer of another class is of unknown
// kind and without parameters, and passes its input's shape on; a warning names
// the class. O(layers).
func ReadKeras(r io.Reader, o *Options) (*File, error) {
	return wrap(Keras.read(scan.NewInput(r), o))
}

// ReadKerasSummary reads the table that Keras's model.summary() prints, with
// blanks between the columns (Keras 2) or lines (Keras 3):
//
//	Layer (type)                Output Shape              Param #
//	=================================================================
//	conv2d (Conv2D)             (None, 26, 26, 32)        320
//
// A name or shape that goes on in the next line is put together again. The
// statistics of a batch normalisation count as frozen parameters, as in Keras's
// own totals, and so does what the stated number of non-trainable ones leaves
// over. A layer that holds others stands as one leaf; a shape with an open
// dimension makes its activations unknown. O(size).
func ReadKerasSummary(r io.Reader, o *Options) (*File, error) {
	return wrap(KerasSummary.read(scan.NewInput(r), o))
}

// ReadONNX reads the graph of an ONNX model: its nodes and the shapes of its
// initializers, whose data it skips. The protobuf messages are those of
// https://github.com/onnx/onnx (onnx.proto3).
//
// A leaf is a node that computes (convolution, product, normalisation,
// activation, pooling, attention) or holds parameters. The mean and variance of
// BatchNormalization are statistics, not parameters; TotalParams counts all
// floating-point initializers, these included, which a warning says.
// Activations come from the shapes that the file states (value_info), or follow
// from the input's shape for convolutional networks; a warning counts the layers
// for which neither tells. Branches inside If and Loop are left out.
// O(graph); with a reader that can seek, weights cost nothing.
func ReadONNX(r io.Reader, o *Options) (*File, error) {
	return wrap(ONNX.read(scan.NewInput(r), o))
}

// ReadSafetensors reads the header of a safetensors file: names, types and
// shapes of its tensors, never their data. The tensors of one module make one
// layer, whose kind is guessed from name and rank; integer tensors and known
// buffers are not parameters. TotalParams counts all elements, buffers too.
// The format is described at https://github.com/huggingface/safetensors.
// O(header).
func ReadSafetensors(r io.Reader, o *Options) (*File, error) {
	return wrap(Safetensors.read(scan.NewInput(r), o))
}

// ReadTorchInfo reads the tree that the Python package torchinfo prints, with
// any choice of columns and row settings that includes Param #:
//
//	Layer (type:depth-idx)          Output Shape              Param #
//	==================================================================
//	Net                             [32, 10]                  --
//	├─Conv2d: 1-1                   [32, 16, 28, 28]          160
//
// Leaves are the rows without rows below them; a container that holds
// parameters of its own gives one more leaf. A module that runs again
// ("(recursive)") works again but has its parameters counted once. Parameters
// in brackets are frozen; where the stated number of trainable ones is smaller
// than that leaves, the rest is frozen in proportion. The batch is what most
// leaves have as their first dimension.
//
// Multiply-adds are counted as torchinfo counts them, so that the leaves add up to
// the total that it states: those of a norm, and of a class that is not known, are
// its parameters once a sample. Of two tables of one model the one that shows
// shapes, or more, is read.
//
// At its default depth torchinfo cuts containers off. What the table states as
// forward/backward pass size and as multiply-adds then tells what they hold:
// twice the outputs of layers with parameters, of which the rows that are shown
// are taken away. Without these totals the activations of such rows are unknown.
// Warnings say so. O(size).
func ReadTorchInfo(r io.Reader, o *Options) (*File, error) {
	return wrap(TorchInfo.read(scan.NewInput(r), o))
}

// ReadTorchPrint reads what PyTorch's print(model) prints, also with a parameter
// count behind each module:
//
//	Net(
//	  (fc): Linear(in_features=784, out_features=10, bias=True), 7,850 params
//	), 7,850 params
//
// Where no count is printed it follows from the printed arguments. Repeated
// blocks ("(0-11): 12 x Block(") are written out. Parameters are those of the
// leaves: containers, which some dumps count again and again, are not added. A
// dense layer called lm_head, decoder or output_projection with the shape of an earlier embedding counts as tied to it, unless the model is of a kind
// that does not tie (Llama, Mistral, Mixtral, Phi, GPT-NeoX, Falcon, OLMo), and an
// embed_tokens of the shape of an embedding called shared is that one; warnings
// say so. The text tells no shapes, hence no activations. O(size).
func ReadTorchPrint(r io.Reader, o *Options) (*File, error) {
	return wrap(TorchPrint.read(scan.NewInput(r), o))
}

// ReadTorchSummary reads the table that the Python package torchsummary prints:
//
//	        Layer (type)               Output Shape         Param #
//	================================================================
//	            Conv2d-1         [-1, 64, 112, 112]           9,408
//
// with an open batch ([-1, ...]) or a stated one ([32, ...]). Text before and
// after the table is ignored; of several tables the first is read.
//
// torchsummary prints every module that runs, containers too. A row of an
// unknown class without parameters counts as a container and is left out, which
// a warning says. It counts only what a module calls weight and bias: the
// parameters of recurrent layers and of MultiheadAttention are not in its table,
// and a module that runs twice is in it twice. O(size).
func ReadTorchSummary(r io.Reader, o *Options) (*File, error) {
	return wrap(TorchSummary.read(scan.NewInput(r), o))
}
