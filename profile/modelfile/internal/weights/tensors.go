package weights

import (
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// tensors turns named weights into leaves: all tensors of one module make one
// leaf. Files of weights say nothing of activations.
type tensors struct {
	file    *draft.Draft
	index   map[string]int // module to layer
	biased  map[int]bool   // layers whose neurons a bias told
	total   int64          // elements of all tensors
	buffers int            // tensors that are not trained
}

func newTensors(f *draft.Draft) *tensors {
	return &tensors{file: f, index: map[string]int{}, biased: map[int]bool{}}
}

// add files one tensor; shape is in PyTorch's order, output features first.
func (t *tensors) add(name string, shape []int64, float bool) error {
	elements := scan.Mul(shape...)
	t.total = scan.Add(t.total, elements)
	if !float || isBuffer(name, shape) {
		t.buffers++
		return nil
	}
	module, role := name, ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		module, role = name[:dot], name[dot+1:]
	}
	i, seen := t.index[module]
	if !seen {
		i = len(t.file.Model.Layers)
		if err := t.file.Add(profile.Layer{Name: module, Unknown: profile.ActivationCounts}); err != nil {
			return err
		}
		t.index[module] = i
	}
	l := &t.file.Model.Layers[i]
	l.Params = scan.Add(l.Params, elements)
	switch {
	case role == "bias" && len(shape) == 1 && l.Kind != profile.Norm:
		t.biased[i] = true
		if l.Kind != profile.OtherLayer {
			l.Neurons = shape[0]
		} else {
			l.Neurons = max(l.Neurons, shape[0])
		}
	case role == "weight", l.Kind == profile.OtherLayer && (len(shape) == 2 || strings.Contains(module, "experts")):
		l.Kind = kindOfWeight(module, len(shape))
		t.neurons(i, shape)
	}
	return l.Validate()
}

// neurons sets the output units that a weight's shape tells.
func (t *tensors) neurons(i int, shape []int64) {
	l := &t.file.Model.Layers[i]
	switch {
	case l.Kind == profile.Norm:
		l.Neurons = 0
	case l.Kind == profile.Embedding && len(shape) > 1:
		l.Neurons = shape[1]
	case len(shape) > 1 && !t.biased[i]:
		l.Neurons = shape[0]
	}
}

func (t *tensors) finish() {
	f := t.file
	for i := range f.Model.Layers {
		if name := f.Model.Layers[i].Name; strings.Contains(name, "attn") || strings.Contains(name, "attention") || strings.Contains(name, "q_proj") {
			f.Model.Family = profile.Transformer
			break
		}
	}
	f.FreezeBesideAdapters()
	f.TotalParams = profile.Some(t.total)
	f.Warn(0, "a file of weights tells no activations: they are unknown; a config.json tells them")
	if t.buffers > 0 {
		f.Warn(0, "%d tensors that are not trained (statistics, masks, indices) are left out", t.buffers)
	}
}

// kindOfWeight guesses what a module is from its name and its weight's rank.
func kindOfWeight(module string, rank int) profile.LayerKind {
	name := strings.ToLower(module)
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case rank == 1:
		return profile.Norm
	case strings.Contains(last, "embd") || strings.Contains(last, "embed") || last == "wte" || last == "wpe" || last == "shared",
		strings.Contains(name, "embeddings.") && rank == 2 && !strings.Contains(last, "proj"):
		if rank == 2 {
			return profile.Embedding
		}
		return profile.Conv // of patches
	case rank == 2, strings.HasSuffix(last, "_exps"), strings.Contains(name, "experts"):
		return profile.Linear
	}
	return profile.Conv
}

// isBuffer tells what modules store besides trained parameters.
func isBuffer(name string, shape []int64) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch last {
	case "running_mean", "running_var", "num_batches_tracked", "position_ids", "token_type_ids",
		"inv_freq", "masked_bias", "relative_position_index", "cos_cached", "sin_cached":
		return true
	}
	return strings.HasPrefix(name, "rope_freqs") || last == "bias" && len(shape) == 4
}
