package modelfile

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// TestKerasOld reads what Keras wrote before 2.2.3, and networks of other
// libraries that follow it.
func TestKerasOld(t *testing.T) {
	for name, c := range map[string]struct {
		json   string
		params int64
		acts   int64
	}{
		"Keras 1, channels first": {`{"class_name": "Sequential", "keras_version": "1.2.1", "config": [
			{"class_name": "Convolution2D", "config": {"name": "c", "nb_filter": 32, "nb_row": 3, "nb_col": 3, "subsample": [1, 1], "bias": true,
				"border_mode": "valid", "dim_ordering": "th", "batch_input_shape": [null, 1, 28, 28]}},
			{"class_name": "MaxPooling2D", "config": {"name": "p", "pool_size": [2, 2], "strides": [2, 2], "border_mode": "valid"}},
			{"class_name": "Flatten", "config": {"name": "f"}},
			{"class_name": "Dense", "config": {"name": "d", "output_dim": 10, "bias": false}}]}`, 320 + 13*13*32*10, 26*26*32 + 13*13*32*2 + 10},
		"Keras 1 states the width": {`{"class_name": "Sequential", "config": [
			{"class_name": "Dense", "config": {"name": "d", "output_dim": 10, "input_dim": 784}}]}`, 7850, 10},
		"an open length": {
			`{"class_name": "Sequential", "config": [
			{"class_name": "Embedding", "config": {"name": "e", "input_dim": 1000, "output_dim": 16, "batch_input_shape": [null, null]}},
			{"class_name": "LSTM", "config": {"name": "l", "units": 8}}, {"class_name": "Dense", "config": {"name": "d", "units": 2}}]}`,
			16000 + 4*8*(16+8+1) + 18, -1,
		},
		"quantised": {
			`{"class_name": "Sequential", "config": {"layers": [
			{"class_name": "QDense", "config": {"name": "q", "units": 64, "batch_input_shape": [null, 16]}},
			{"class_name": "QActivation", "config": {"name": "a"}}, {"class_name": "TernaryDense", "config": {"name": "t", "units": 5}}]}}`,
			17*64 + 65*5, 64 + 64 + 5,
		},
		"TensorFlow.js": {`{"modelTopology": {"model_config": ` + kerasMNIST + `}, "weightsManifest": []}`, 34_826, -2},
	} {
		f, err := Read(strings.NewReader(c.json), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := activationsOf(f.Model); f.Model.Params() != c.params || c.acts != -2 && got != c.acts || f.Model.Unknown()&profile.ParamCounts != 0 {
			t.Errorf("%s: %d parameters, %d activations, want %d, %d", name, f.Model.Params(), got, c.params, c.acts)
		}
	}
	for text, want := range map[string]string{
		`{"class_name": "Tokenizer", "config": {"filters": "!"}}`:                           "a Keras Tokenizer, not a model",
		`{"modelTopology": {"node": []}}`:                                                   "a TensorFlow graph",
		`{"class_name": "Sequential", "config": {"layers": "none"}}`:                        `"layers" is of type string: not the JSON of a Keras model`,
		`{"class_name": "Sequential", "config": [{"class_name": "Dense", "config": "no"}]}`: `"config" is of type string`,
	} {
		if _, err := Read(strings.NewReader(text), nil); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go struct") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// TestONNXInside: weights inside If count, those of the larger branch, and weights
// that the graph makes itself are unknown.
func TestONNXInside(t *testing.T) {
	branch := func(rows int64) proto {
		return proto{}.bytes(5, proto{}.int(1, rows).int(1, 4).int(2, 1).text(8, "w")).
			bytes(1, proto{}.text(1, "x").text(1, "w").text(2, "y").text(4, "MatMul"))
	}
	node := proto{}.text(1, "condition").text(2, "out").text(4, "If").
		bytes(5, proto{}.text(1, "then_branch").bytes(6, branch(3))).bytes(5, proto{}.text(1, "else_branch").bytes(6, branch(5)))
	f, err := readAs(ONNX)(bytes.NewReader(proto{}.int(1, 8).bytes(7, proto{}.bytes(1, node))), nil)
	if err != nil || f.Model.Params() != 20 || !strings.Contains(f.Warnings[len(f.Warnings)-1].Text, "1 branches of If") {
		t.Errorf("got %+v, %v", f, err)
	}
	light := proto{}.bytes(1, proto{}.text(1, "shape").text(2, "w").text(4, "ConstantOfShape").
		bytes(5, proto{}.text(1, "value").bytes(5, proto{}.int(1, 1).int(2, 1)))).
		bytes(1, proto{}.text(1, "x").text(1, "w").text(2, "y").text(4, "Conv"))
	f, err = readAs(ONNX)(bytes.NewReader(proto{}.int(1, 8).bytes(7, light)), nil)
	if err != nil || f.Model.Params() != 0 || f.Model.Unknown()&profile.ParamCounts == 0 || f.TotalParams.Or(0) != 0 {
		t.Errorf("got %+v, %v", f, err)
	}
}

// TestForeignFormats: what cannot be read is called by its name.
func TestForeignFormats(t *testing.T) {
	for text, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:00\n":                "Git LFS pointer",
		"\x89HDF\r\n\x1a\n\x00\x00":                                                  "HDF5",
		"\x08\x01\x12\x40\x0a\x20saved_model and VarHandleOp and much more of graph": "TensorFlow SavedModel",
		"\x1c\x00\x00\x00TFL3\x00\x00\x00":                                           "TensorFlow Lite",
	} {
		if _, err := Read(strings.NewReader(text), nil); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
