package modelfile

import (
	"fmt"
	"strings"

	"example.com/colloc/profile"
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

// warn adds a warning; line 0 is the file as a whole. Beyond maxWarnings it
// counts no further: one more warning says so.
func (f *File) warn(line int, format string, args ...any) {
	switch {
	case len(f.Warnings) < maxWarnings:
		f.Warnings = append(f.Warnings, Warning{Line: line, Text: fmt.Sprintf(format, args...)})
	case len(f.Warnings) == maxWarnings:
		f.Warnings = append(f.Warnings, Warning{Line: line, Text: "further warnings are left out"})
	}
}

// add appends a leaf.
func (f *File) add(l profile.Layer) error {
	if len(f.Model.Layers) >= MaxLayers {
		return fmt.Errorf("more than %d layers", MaxLayers)
	}
	if err := l.Validate(); err != nil {
		return fmt.Errorf("layer %q: %w", l.Name, err)
	}
	f.Model.Layers = append(f.Model.Layers, l)
	return nil
}

// missingParams adds a leaf for parameters that a file states without showing
// where they are.
func (f *File) missingParams(name string, n int64) {
	if len(f.Model.Layers) < MaxLayers {
		f.Model.Layers = append(f.Model.Layers, profile.Layer{Name: name, Params: n, Unknown: profile.ActivationCounts | profile.NeuronCounts})
	}
}

// freezeBesideAdapters freezes all but the adapters of a model that has some, and
// whatever the library for them was told to train besides.
func (f *File) freezeBesideAdapters() {
	adapters := int64(0)
	for i := range f.Model.Layers {
		if isAdapter(f.Model.Layers[i].Name) {
			adapters = add(adapters, f.Model.Layers[i].Params)
		}
	}
	if adapters == 0 || adapters == f.Model.Params() {
		return
	}
	for i := range f.Model.Layers {
		if l := &f.Model.Layers[i]; !isAdapter(l.Name) {
			l.Frozen = l.Params
		}
	}
	f.warn(0, "adapters found: they alone count as trained, %d of %d parameters", f.Model.Trainable(), f.Model.Params())
}

// isAdapter recognises the modules that fine-tuning by adapters adds.
func isAdapter(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"lora_", "lora.", "adapter", "prompt_encoder", "prompt_embeddings", "prefix_encoder", "ia3_", "modules_to_save"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
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
