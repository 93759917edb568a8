package modelfile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"example.com/colloc/profile/modelfile/internal/scan"
)

// sequence is a Sequential model of layers.
func sequence(layers ...string) string {
	return `{"class_name": "Sequential", "config": {"layers": [` + strings.Join(layers, ",") + `]}}`
}

// settings is a layer of a class.
func settings(class, config string) string {
	return fmt.Sprintf(`{"class_name": %q, "config": {%s}}`, class, config)
}

// TestKerasTold: what the JSON of a Keras model tells.
func TestKerasTold(t *testing.T) {
	const merged = `{"class_name": "Model", "config": {"name": "m", "layers": [
 {"class_name": "InputLayer", "name": "in", "config": {"batch_input_shape": [null, 4]}, "inbound_nodes": []},
 {"class_name": "Dense", "name": "left", "config": {"output_dim": 3}, "inbound_nodes": [[["in", 0, 0]]]},
 {"class_name": "Dense", "name": "right", "config": {"output_dim": 3}, "inbound_nodes": [[["in", 0, 0]]]},
 {"class_name": "Merge", "name": "both", "config": {"mode": "MODE", "concat_axis": -1}, "inbound_nodes": [[["left", 0, 0], ["right", 0, 0]]]},
 {"class_name": "Dense", "name": "out", "config": {"output_dim": 1}, "inbound_nodes": [[["both", 0, 0]]]}]}}`
	const branches = `
left: linear units 3 params 15 out 3 macs 15
right: linear units 3 params 15 out 3 macs 15
`
	check(t, readText, []sample{
		{"Keras 1 joins end to end", strings.Replace(merged, "MODE", "concat", 1), `
keras "m", sample 4` + branches + `out: linear units 1 params 7 out 1 macs 7`},
		{"or adds up", strings.Replace(merged, "MODE", "sum", 1), `
keras "m", sample 4` + branches + `out: linear units 1 params 4 out 1 macs 4`},
		{"gated units of Keras 1 have one bias, those of today two", sequence(settings("GRU", `"name": "old", "output_dim": 2, "inner_init": "orthogonal", "return_sequences": true, "batch_input_shape": [null, 5, 3]`),
			settings("GRU", `"name": "second", "units": 2, "implementation": 1, "return_sequences": true`), settings("GRU", `"name": "new", "units": 2, "reset_after": true`)), `
keras "", sample 15
old: recurrent units 2 params 36 out 10 macs 180
second: recurrent units 2 params 30 out 10 macs 150
new: recurrent units 2 params 36 out 2 macs 180`},
		{"quantised layers of one unit and one filter", sequence(settings("QConv2D", `"name": "c", "filters": 1, "kernel_size": 2, "batch_input_shape": [null, 4, 4, 1]`), settings("Flatten", `"name": "f"`), settings("QDense", `"name": "d", "units": 1`), settings("QDense", `"name": "e", "units": 2`)), `
keras "", sample 16
c: conv units 1 params 5 out 9 macs 45
f: other out 9 in place
d: linear units 1 params 10 out 1 macs 10
e: linear units 2 params 4 out 2 macs 4
! layer class "QConv2D" counts as Conv2D
! layer class "QDense" counts as Dense`},
		{"a shape that a layer was built with, and classes of one's own", sequence(`{"class_name": "Dense", "config": {"name": "d", "units": 2}, "build_config": {"input_shape": [null, 4]}}`, settings("Own", `"name": "a"`), settings("Own", `"name": "b"`)), `
keras ""
d: linear units 2 params 10 out 2 macs 10
a: other out 2 without params
b: other out 2 without params
! layer class "Own" is not known: kind other, unknown parameters, shape unchanged`},
		{
			"both directions of both directions of nothing", `{"class_name": "Sequential", "config": {"layers": [` + strings.Repeat(`{"class_name": "Bidirectional", "config": {"layer": `, 60) + settings("Add", `"name": "a", "batch_input_shape": [null, 4]`) + strings.Repeat("}}", 60) + `]}}`,
			`modelfile: keras: layer 0 "": a Bidirectional around Bidirectional: want a recurrent layer`,
		},
		{"a count of Keras 1 that is none", sequence(settings("Convolution2D", `"nb_filter": "x"`)), `modelfile: keras: layer 0: "nb_filter" is of type string: not the JSON of a Keras model`},
		{
			"both directions of a model", sequence(settings("Bidirectional", `"name": "b", "layer": `+sequence(settings("Dense", `"name": "d", "units": 2, "batch_input_shape": [null, 4]`)))),
			`modelfile: keras: layer 0 "b": a Bidirectional around Sequential: want a recurrent layer`,
		},
		{
			"behind what changes it the width is not", sequence(settings("Embedding", `"name": "e", "input_dim": 10, "output_dim": 4, "batch_input_shape": [null, null]`), settings("Flatten", `"name": "f"`), settings("Dense", `"name": "d", "units": 2`)),
			`modelfile: keras: layer 2 "d": the input shape of Dense is not known: state the model's input shape`,
		},
		{"windows that just fit, in the words of Keras 1", sequence(settings("Convolution2D", `"name": "a", "nb_filter": 2, "nb_row": 1, "nb_col": 3, "batch_input_shape": [null, 3, 3, 1]`), settings("Conv2D", `"name": "b", "filters": 1, "kernel_size": [3, 1]`), settings("Flatten", `"name": "f"`)), `
keras "", sample 9
a: conv units 2 params 8 out 6 macs 24
b: conv units 1 params 7 out 1 macs 7
f: other out 1 in place`},
		{"both directions over an open length", sequence(settings("Embedding", `"name": "e", "input_dim": 10, "output_dim": 4, "batch_input_shape": [null, null]`), settings("Bidirectional", `"name": "b", "layer": `+settings("LSTM", `"units": 3`)), settings("Dense", `"name": "d", "units": 1`)), `
keras ""
e: embedding params 40 without activations
b.forward: recurrent params 96 without activations
b.backward: recurrent params 96 without activations
d: linear params 7 without activations`},
		{"a window wider than what it slides over in steps", sequence(settings("Conv2D", `"name": "c", "filters": 1, "kernel_size": 4, "strides": 2, "batch_input_shape": [null, 3, 3, 1]`)), `modelfile: keras: layer 0 "c": a window of 4 over 3 elements`},
		{"axes that no shape has share no slopes", sequence(settings("PReLU", `"name": "p", "shared_axes": [0, 9], "batch_input_shape": [null, 6]`)), `
keras "", sample 6
p: activation params 6 out 6`},
		{"a layer that is used twice is joined once", strings.NewReplacer("MODE", "concat", `[["left", 0, 0], ["right", 0, 0]]`, `[["left", 0, 0], ["right", 0, 0]], [["right", 0, 0], ["left", 0, 0]]`).Replace(merged), `
keras "m", sample 4` + branches + `out: linear units 1 params 7 out 1 macs 7`},
		{"behind an open length the width is known", sequence(settings("Embedding", `"name": "e", "input_dim": 10, "output_dim": 4, "batch_input_shape": [null, null]`), settings("Activation", `"name": "a", "activation": "relu"`),
			settings("Dropout", `"name": "p"`), settings("LayerNormalization", `"name": "n"`), settings("Dense", `"name": "d", "units": 2`)), `
keras ""
e: embedding params 40 without activations
a: activation without activations
p: dropout without activations
n: norm params 8 without activations
d: linear params 10 without activations`},
	})
	stream := io.MultiReader(strings.NewReader("PK\x03\x04"), io.LimitReader(zeros{}, scan.MaxJSON))
	if _, err := readAs(Keras)(stream, nil); err == nil || !strings.Contains(err.Error(), "a larger archive needs a reader that can seek") {
		t.Errorf("a large archive that is streamed: %v", err)
	}
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	if _, err := z.CreateRaw(&zip.FileHeader{Name: "config.json", Method: 99}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := readAs(Keras)(&packed, nil); err == nil || !strings.Contains(err.Error(), "config.json: zip: unsupported compression algorithm") {
		t.Errorf("an archive packed in an unknown way: %v", err)
	}
	wrapped := func(n int) string {
		return `{"class_name": "Sequential", "config": {"layers": [` + strings.Repeat(`{"class_name": "Own", "config": {"layer": `, n) +
			settings("Dense", `"name": "d", "units": 2, "batch_input_shape": [null, 4]`) + strings.Repeat(`}}`, n) + `]}}`
	}
	nested := func(n int) string {
		return strings.Repeat(`{"class_name": "Sequential", "config": {"layers": [`, n) + settings("Dense", `"name": "d", "units": 2, "batch_input_shape": [null, 4]`) + strings.Repeat(`]}}`, n)
	}
	for name, c := range map[string]struct {
		text string
		deep bool
	}{"models": {nested(scan.MaxDepth + 1), false}, "models, deeper": {nested(scan.MaxDepth + 2), true}, "wrappers": {wrapped(scan.MaxDepth + 1), false}, "wrappers, deeper": {wrapped(scan.MaxDepth + 2), true}} {
		if _, err := readText(c.text); (err != nil && strings.Contains(err.Error(), "nest deeper than 64")) != c.deep {
			t.Errorf("%s: %v", name, err)
		}
	}
}
