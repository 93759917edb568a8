package modelfile

import (
	"fmt"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// Bounds that every reader keeps. Real files stay far below; beyond them a
// reader returns an error that names the line or the offset.
const (
	// MaxText is the largest text in bytes, and the most that is held of the
	// names and shapes of a binary file.
	MaxText = scan.MaxText
	// MaxJSON is the largest JSON document in bytes, also inside an archive.
	MaxJSON = scan.MaxJSON
	// MaxLine is the longest line, and the longest name, in bytes.
	MaxLine = scan.MaxLine
	// MaxLayers is the largest number of leaves.
	MaxLayers = scan.MaxLayers
	// MaxDepth is the deepest nesting of containers.
	MaxDepth = scan.MaxDepth
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
	// KerasSummary is the table that Keras's model.summary() prints.
	KerasSummary

	formats int = iota
)

// File is what was understood of one model file.
type File struct {
	// Format is the format that was read.
	Format Format
	// Model holds the leaves. Its Name is Options.Name if that is set, else
	// what the file says, else empty.
	Model profile.Model
	// TotalParams is the total that the file itself states; missing where the
	// format states none. Model.Params is what the leaves add up to.
	TotalParams profile.Opt[int64]
	// SampleElements is the number of input elements of one sample, where the
	// file tells: tokens, or pixels times channels.
	SampleElements profile.Opt[int64]
	// BatchSize is the batch that the file was made with; missing where it
	// leaves the batch open.
	BatchSize profile.Opt[int]
	// Warnings are what the reader left out or had to assume.
	Warnings []Warning
}

// Spec returns a specification of a task that trains the model with a batch
// size: the model, its sample size and the warnings from the file, all else at
// the zero value.
func (f *File) Spec(batchSize int) profile.Spec {
	var warnings []string
	for _, w := range f.Warnings {
		warnings = append(warnings, w.String())
	}
	return profile.Spec{
		Warnings: warnings,
		Model:    f.Model,
		Dataset:  profile.Dataset{SampleElements: f.SampleElements},
		Training: profile.Training{BatchSize: batchSize},
	}
}

// Warning is something a reader left out or had to assume.
type Warning struct {
	// Line is the line it concerns, from 1; 0 is the file as a whole.
	Line int
	// Text says what and why.
	Text string
}

// String returns the text, after the line where there is one.
func (w Warning) String() string {
	if w.Line > 0 {
		return fmt.Sprintf("line %d: %s", w.Line, w.Text)
	}
	return w.Text
}

// Head is what sits on top of a transformer.
type Head int

// Heads of transformers described by a config.json.
const (
	// DefaultHead is what the published parameter count includes: the language
	// model head for decoders and encoder-decoders, the pooler for encoders,
	// the classifier for vision models that name their labels.
	DefaultHead Head = iota
	// NoHead is the bare stack.
	NoHead
	// LanguageHead predicts tokens; for an encoder this is the masked language
	// model head without the pooler.
	LanguageHead
)

// Options set what a file does not say. The zero value, or nil, is ready to use.
type Options struct {
	// Name is the model's name; empty takes what the file says.
	Name string
	// SequenceLength is the number of tokens in one sample of a language model
	// that a config.json describes; 0 means 512 or the model's largest number
	// of positions, whichever is less. Encoder and decoder get the same length.
	SequenceLength int
	// Head is what sits on top of a transformer that a config.json describes.
	Head Head
}
