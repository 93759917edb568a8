package draft

import (
	"fmt"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// Draft is a description that a reader works on.
type Draft struct {
	// Model holds the leaves.
	Model profile.Model
	// TotalParams is the total that the file itself states.
	TotalParams profile.Opt[int64]
	// SampleElements is the number of input elements of one sample.
	SampleElements profile.Opt[int64]
	// BatchSize is the batch that the file was made with.
	BatchSize profile.Opt[int]
	// Warnings are what the reader left out or had to assume.
	Warnings reading.Warnings
}

// Warn adds a warning; line 0 is the file as a whole.
func (f *Draft) Warn(line int, format string, args ...any) { f.Warnings.Add(line, format, args...) }

// Add appends a leaf.
func (f *Draft) Add(l profile.Layer) error {
	if len(f.Model.Layers) >= scan.MaxLayers {
		return fmt.Errorf("more than %d layers", scan.MaxLayers)
	}
	if err := l.Validate(); err != nil {
		return fmt.Errorf("layer %q: %w", l.Name, err)
	}
	f.Model.Layers = append(f.Model.Layers, l)
	return nil
}

// MissingParams adds a leaf for parameters that a file states without showing
// where they are.
func (f *Draft) MissingParams(name string, n int64) {
	if len(f.Model.Layers) < scan.MaxLayers {
		f.Model.Layers = append(f.Model.Layers, profile.Layer{Name: name, Params: n, Unknown: profile.ActivationCounts | profile.NeuronCounts})
	}
}

// FreezeBesideAdapters freezes all but the adapters of a model that has some, and
// whatever the library for them was told to train besides.
func (f *Draft) FreezeBesideAdapters() {
	adapters := int64(0)
	for i := range f.Model.Layers {
		if isAdapter(f.Model.Layers[i].Name) {
			adapters = scan.Add(adapters, f.Model.Layers[i].Params)
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
	f.Warn(0, "adapters found: they alone count as trained, %d of %d parameters", f.Model.Trainable(), f.Model.Params())
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

// WayOut is what to do about a network that cannot be described from a file.
const WayOut = "describe it by torchinfo at depth=99, ONNX with shapes, or its safetensors"
