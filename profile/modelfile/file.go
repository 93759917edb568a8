package modelfile

import (
	"fmt"

	"example.com/colloc/profile"
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
