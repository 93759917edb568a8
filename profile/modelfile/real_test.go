package modelfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// TestRealFiles reads a folder of files of others, which COLLOC_REAL names, and
// prints by category how many were read with all counts, read with a stated
// unknown, and refused. A failure is a panic; parameters that miss the truth by
// more than one in a hundred without an unknown, where the truth is what the file
// states, its weights summed up by another reader, or what is published; and a
// refusal whose reason the file itself does not bear out.
//
//	COLLOC_REAL=folder go test ./profile/modelfile -run TestRealFiles -v
func TestRealFiles(t *testing.T) {
	root := os.Getenv("COLLOC_REAL")
	if root == "" {
		t.Skip("COLLOC_REAL names no folder of files")
	}
	type sums struct{ read, unknown, refused, wrong, checked int }
	table := map[string]*sums{}
	var order []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Dir(path) == filepath.Clean(root) {
			return err
		}
		category, _, _ := strings.Cut(strings.TrimPrefix(path, filepath.Clean(root)+string(filepath.Separator)), string(filepath.Separator))
		s := table[category]
		if s == nil {
			s = &sums{}
			table[category] = s
			order = append(order, category)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := ReadFile(path, nil)
		if err != nil {
			s.refused++
			if !rightlyRefused(category, string(data), err) {
				s.wrong++
				t.Errorf("%s: the file does not bear out: %v", path, err)
			}
			return nil
		}
		unknown := f.Model.Unknown()
		if unknown != 0 {
			s.unknown++
		} else {
			s.read++
		}
		want, known := truth(category, path, data)
		if !known {
			return nil
		}
		s.checked++
		miss := want - f.Model.Params()
		if max(miss, -miss)*100 > want && unknown&profile.ParamCounts == 0 && !explained(f) {
			s.wrong++
			t.Errorf("%s: %d parameters, in truth %d: %v", path, f.Model.Params(), want, f.Warnings)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%-16s %6s %8s %8s %6s %8s", "category", "read", "unknown", "refused", "wrong", "checked")
	for _, category := range order {
		s := table[category]
		t.Logf("%-16s %6d %8d %8d %6d %8d", category, s.read, s.unknown, s.refused, s.wrong, s.checked)
	}
}

// explained says whether a warning tells why a total is another: elements that are
// no parameters.
func explained(f *File) bool {
	return slices.ContainsFunc(f.Warnings, func(w Warning) bool {
		return strings.Contains(w.Text, "no parameters") || strings.Contains(w.Text, "left out")
	})
}

// rightlyRefused holds the reason of a refusal against the file.
func rightlyRefused(category, text string, err error) bool {
	reason := err.Error()
	has := func(words ...string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	}
	switch category {
	case "hf":
		_, key, _ := strings.Cut(reason, `": `)
		key, _, named := strings.Cut(key, " makes it a network")
		switch {
		case named:
			return has(`"` + key + `"`)
		case strings.Contains(reason, "a type that this package does not know"):
			_, kind, _ := strings.Cut(reason, `model_type "`)
			kind, _, _ = strings.Cut(kind, `"`)
			return has(`"`+kind+`"`) && !described(kind)
		case strings.Contains(reason, "settings of a quantisation"):
			return has("quant_algo") || has("quant_method")
		case strings.Contains(reason, "of diffusers"):
			return has("_class_name")
		default:
			return !has("hidden_size") && !has("d_model")
		}
	case "onnx":
		nodes, weights, layers := countONNX([]byte(text))
		return layers == 0 && (weights == 0) != strings.Contains(reason, "stored elements") && (nodes == 0) == strings.Contains(reason, "no graph with operators")
	case "torchinfo":
		return has("Total params: 0\n") && strings.Contains(reason, "no row that computes or holds parameters")
	case "keras", "tfjs":
		return strings.Contains(reason, "a TensorFlow graph") && has(`"node"`, `"op"`) ||
			strings.Contains(reason, "a Keras Tokenizer") && has(`"Tokenizer"`) ||
			strings.Contains(reason, "a Keras TimeseriesGenerator") && has(`"TimeseriesGenerator"`)
	case "safetensors":
		return strings.Contains(reason, "names no parameter") && !strings.Contains(text[:min(len(text), 4096)], `"dtype":"F`) &&
			!strings.Contains(text[:min(len(text), 4096)], `"dtype":"BF`)
	default: // logs, not models
		return errors.Is(err, ErrFormat) || category == "trace"
	}
}

// described says whether the tests know a type by its published counts.
func described(kind string) bool {
	for _, c := range configs {
		if strings.Contains(c.json, `"model_type":"`+kind+`"`) {
			return true
		}
	}
	return false
}
