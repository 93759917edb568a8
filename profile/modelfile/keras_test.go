package modelfile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// kerasMNIST is the convolutional network of Keras' own introduction, which
// reports 34,826 parameters.
const kerasMNIST = `{"class_name": "Sequential", "config": {"name": "mnist", "layers": [
 {"class_name": "InputLayer", "config": {"batch_shape": [null, 28, 28, 1], "name": "input"}},
 {"class_name": "Conv2D", "config": {"name": "conv1", "filters": 32, "kernel_size": [3, 3], "strides": [1, 1], "padding": "valid", "activation": "relu", "use_bias": true}},
 {"class_name": "MaxPooling2D", "config": {"name": "pool1", "pool_size": [2, 2], "strides": [2, 2], "padding": "valid"}},
 {"class_name": "Conv2D", "config": {"name": "conv2", "filters": 64, "kernel_size": [3, 3], "strides": [1, 1], "padding": "valid", "activation": "relu"}},
 {"class_name": "MaxPooling2D", "config": {"name": "pool2", "pool_size": [2, 2], "strides": null, "padding": "valid"}},
 {"class_name": "Flatten", "config": {"name": "flatten"}},
 {"class_name": "Dropout", "config": {"name": "dropout", "rate": 0.5}},
 {"class_name": "Dense", "config": {"name": "dense", "units": 10, "activation": "softmax"}}
]}, "keras_version": "3.3.3"}`

func TestKerasSequential(t *testing.T) {
	f, err := Read(strings.NewReader(kerasMNIST), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		kind                profile.LayerKind
		params, activations int64
	}{
		{profile.Conv, 320, 26 * 26 * 32},
		{profile.Activation, 0, 26 * 26 * 32},
		{profile.Pool, 0, 13 * 13 * 32},
		{profile.Conv, 18496, 11 * 11 * 64},
		{profile.Activation, 0, 11 * 11 * 64},
		{profile.Pool, 0, 5 * 5 * 64},
		{profile.OtherLayer, 0, 1600},
		{profile.Dropout, 0, 1600},
		{profile.Linear, 16010, 10},
		{profile.Activation, 0, 10},
	}
	for i, l := range f.Model.Layers {
		if i < len(want) && (l.Kind != want[i].kind || l.Params != want[i].params || l.Activations != want[i].activations) {
			t.Errorf("%d: got %+v, want %+v", i, l, want[i])
		}
	}
	if f.Format != Keras || f.Model.Params() != 34_826 || len(f.Model.Layers) != len(want) || f.Model.Name != "mnist" {
		t.Errorf("got %v %q, %d parameters, %d layers", f.Format, f.Model.Name, f.Model.Params(), len(f.Model.Layers))
	}
	macs, ok := f.Model.MACs()
	if want := int64(320*26*26 + 18496*11*11 + 16010); macs != want || !ok || f.SampleElements != profile.Some[int64](784) {
		t.Errorf("got %d multiply-adds, %t, want %d; sample %v", macs, ok, want, f.SampleElements)
	}
}

// branches is a functional model; %s are the inbound nodes of its add layer.
const branches = `{"class_name": "Functional", "config": {"name": "net", "layers": [
 {"class_name": "InputLayer", "name": "in", "config": {"batch_input_shape": [null, 8, 8, 16], "name": "in"}, "inbound_nodes": []},
 {"class_name": "SeparableConv2D", "name": "left", "config": {"filters": 32, "kernel_size": 3, "padding": "same", "strides": 2}, "inbound_nodes": [[["in", 0, 0, {}]]]},
 {"class_name": "DepthwiseConv2D", "name": "right", "config": {"depth_multiplier": 2, "kernel_size": [3, 3], "padding": "same", "strides": [2, 2], "use_bias": false}, "inbound_nodes": [[["in", 0, 0, {}]]]},
 {"class_name": "BatchNormalization", "name": "bn", "config": {"axis": [3], "scale": true, "center": true}, "inbound_nodes": [[["left", 0, 0, {}]]]},
 {"class_name": "Concatenate", "name": "cat", "config": {"axis": -1}, "inbound_nodes": %s},
 {"class_name": "Conv2DTranspose", "name": "up", "config": {"filters": 4, "kernel_size": 2, "strides": 2}, "inbound_nodes": [[["cat", 0, 0, {}]]]},
 {"class_name": "GlobalAveragePooling2D", "name": "gap", "config": {}, "inbound_nodes": [[["up", 0, 0, {}]]]}
]}}`

func TestKerasFunctional(t *testing.T) {
	for version, inbound := range map[string]string{
		"2": `[[["bn", 0, 0, {}], ["right", 0, 0, {}]]]`,
		"3": `[{"args": [[{"class_name": "__keras_tensor__", "config": {"shape": [null, 4, 4, 32], "dtype": "float32", "keras_history": ["bn", 0, 0]}},
			{"class_name": "__keras_tensor__", "config": {"keras_history": ["right", 0, 0]}}]], "kwargs": {}}]`,
	} {
		f, err := readAs(Keras)(strings.NewReader(fmt.Sprintf(branches, inbound)), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range f.Model.Layers {
			got = append(got, fmt.Sprintf("%s %d %d", l.Name, l.Params, l.Activations))
		}
		const want = "left 688 512,right 288 512,bn 64 512,up 1028 256,gap 0 4"
		if strings.Join(got, ",") != want {
			t.Errorf("version %s: got  %s\nwant %s", version, strings.Join(got, ","), want)
		}
	}
}

func TestKerasSequences(t *testing.T) {
	const text = `{"class_name": "Sequential", "config": {"name": "text", "layers": [
	 {"class_name": "Embedding", "config": {"name": "e", "input_dim": 1000, "output_dim": 16, "batch_input_shape": [null, 8]}},
	 {"class_name": "MultiHeadAttention", "config": {"name": "a", "num_heads": 2, "key_dim": 2}},
	 {"class_name": "LayerNormalization", "config": {"name": "n", "axis": [-1]}},
	 {"class_name": "Bidirectional", "config": {"name": "b", "layer": {"class_name": "LSTM", "config": {"name": "l", "units": 4, "return_sequences": true}}}},
	 {"class_name": "TimeDistributed", "config": {"name": "t", "layer": {"class_name": "Dense", "config": {"name": "d", "units": 3}}}},
	 {"class_name": "GRU", "config": {"name": "g", "units": 5}},
	 {"class_name": "MyOwnLayer", "config": {"name": "m"}}
	]}}`
	f, err := readAs(Keras)(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range f.Model.Layers {
		got = append(got, fmt.Sprintf("%s %v %d %d", l.Name, l.Kind, l.Params, l.Activations))
	}
	// Parameters as Keras' count_params gives them.
	want := []string{
		"e embedding 16000 128", "a attention 284 256", "n norm 32 128", "b.forward recurrent 336 32",
		"b.backward recurrent 336 32", "t linear 27 24", "g recurrent 150 5", "m other 0 5",
	}
	if strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if !strings.Contains(fmt.Sprint(f.Warnings), `layer class "MyOwnLayer" is not known`) {
		t.Errorf("got %v", f.Warnings)
	}
}

func archive(tb testing.TB, name string, content io.Reader) []byte {
	tb.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	w, err := z.Create(name)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := io.Copy(w, content); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// TestKerasSettings reads settings that mean something else in another class.
func TestKerasSettings(t *testing.T) {
	f, err := Read(strings.NewReader(`{"class_name": "Sequential", "config": {"layers": [
 {"class_name": "InputLayer", "config": {"batch_shape": [null, 8, 8, 3]}},
 {"class_name": "Rescaling", "config": {"name": "rescaling", "scale": 0.00392156862745098, "offset": 0.0}},
 {"class_name": "GroupNormalization", "config": {"name": "instance_norm", "groups": -1, "scale": false}},
 {"class_name": "Reshape", "config": {"name": "deepest", "target_shape": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 8, 8, 3]}},
 {"class_name": "Reshape", "config": {"name": "reshape", "target_shape": [-1, 6]}},
 {"class_name": "Dense", "config": {"name": "dense", "units": 10, "use_bias": false}}
]}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	last := f.Model.Layers[len(f.Model.Layers)-1]
	if want := int64(3 + 6*10); f.Model.Params() != want || last.Activations != 32*10 {
		t.Errorf("%d parameters, want %d: %+v", f.Model.Params(), want, f.Model.Layers)
	}
}

func TestKerasArchive(t *testing.T) {
	data := archive(t, "config.json", strings.NewReader(kerasMNIST))
	for name, r := range map[string]io.Reader{"seeking": bytes.NewReader(data), "stream": io.MultiReader(bytes.NewReader(data))} {
		f, err := Read(r, nil)
		if err != nil || f.Format != Keras || f.Model.Params() != 34_826 {
			t.Errorf("%s: got %v, %v", name, f, err)
		}
	}
}

// zeros is an endless text of blanks, which packs a thousandfold.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestKerasErrors(t *testing.T) {
	model := func(layers string) string {
		return `{"class_name": "Sequential", "config": {"layers": [` + layers + `]}}`
	}
	bomb := archive(t, "config.json", io.LimitReader(zeros{}, scan.MaxJSON+1))
	nested := strings.Repeat(`{"class_name":"Sequential","config":{"layers":[`, 200) + strings.Repeat(`]}}`, 200)
	for _, c := range []struct{ name, text, want string }{
		{"zip bomb", string(bomb), "config.json: the document is longer than"},
		{"no config", string(archive(t, "weights.h5", strings.NewReader("x"))), "no config.json"},
		{"broken archive", "PK\x03\x04" + strings.Repeat("x", 100), "zip: not a valid zip file"},
		{"not JSON", `{"class_name": "a", "config": !`, "offset 31: invalid character"},
		{"deep JSON", `{"class_name": "a", "config": ` + strings.Repeat("[", 1_000_000), "exceeded max depth"},
		{"deep models", nested, "nest deeper than 64"},
		{"no layers", model(""), "no layer found"},
		{"no input shape", model(`{"class_name":"Dense","config":{"units":3}}`), "state the model's input shape"},
		{"reshaped to more than 16 dimensions", model(`{"class_name":"Reshape","config":{"target_shape":[` + strings.Repeat("1,", 16) + `4],"batch_shape":[null,4]}},{"class_name":"Dense","config":{"units":3}}`), "state the model's input shape"},
		{"reshaped by a text", model(`{"class_name":"Reshape","config":{"target_shape":[4,"1"],"batch_shape":[null,4]}},{"class_name":"Dense","config":{"units":3}}`), "state the model's input shape"},
		{"negative", model(`{"class_name":"Dense","config":{"units":-3,"batch_shape":[null,4]}}`), "has a negative size"},
		{"window too large", model(`{"class_name":"Conv2D","config":{"filters":3,"kernel_size":9,"batch_shape":[null,4,4,1]}}`), "a window of 9 over 4"},
		{"huge", model(`{"class_name":"Embedding","config":{"input_dim":1000000000,"output_dim":1000000000,"batch_shape":[null,4]}}`), "want 0 to 1e15"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func FuzzReadKeras(f *testing.F) {
	f.Add([]byte(kerasMNIST))
	f.Add([]byte(fmt.Sprintf(branches, `[[["bn", 0, 0, {}], ["right", 0, 0, {}]]]`)))
	f.Add(archive(f, "config.json", strings.NewReader(kerasMNIST)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if file, err := readAs(Keras)(bytes.NewReader(data), nil); err == nil {
			checkFile(t, file)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, seed := range [][]byte{
		[]byte(kerasMNIST), []byte(configs[0].json), safetensors(gpt2Weights(1)), ggufFile(llamaGGUF()[:3]),
		newGraph(3, 8).conv(4, 3, 1).model(), []byte(mlp().torchsummary(-1, 1)), []byte(treeText), []byte(printedGPT2(1, 8, 9, true)),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if file, err := Read(bytes.NewReader(data), nil); err == nil {
			checkFile(t, file)
		}
	})
}

func ExampleRead_keras() {
	f, err := Read(strings.NewReader(kerasMNIST), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Model.Name, f.Model.Guess(), f.Model.Params(), f.SampleElements)
	// Output: mnist cnn 34826 784
}

func BenchmarkReadKeras(b *testing.B) {
	b.SetBytes(int64(len(kerasMNIST)))
	for b.Loop() {
		if _, err := readAs(Keras)(strings.NewReader(kerasMNIST), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestKerasSummaryWhole: what a fitted model's total holds of the optimiser is not the
// model's, and a model inside counts by its rows where they are shown.
func TestKerasSummaryWhole(t *testing.T) {
	const rich = `Model: "m"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ inner (Sequential)              │ (None, 4)              │            56 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│    └ dense (Dense)              │ (None, 4)              │            36 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│    └ deep (Functional)          │ (None, 4)              │            20 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│       └ dense_1 (Dense)         │ (None, 4)              │            20 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dense_2 (Dense)                 │ (None, 1)              │             5 │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 185 (740.00 B)
 Trainable params: 61 (244.00 B)
 Non-trainable params: 0 (0.00 B)
 Optimizer params: 124 (496.00 B)
`
	const plain = `Model: "m"
_________________________________________________________________
 Layer (type)                Output Shape              Param #
=================================================================
 inner (Sequential)          (None, 4)                 56
|¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯|
| dense (Dense)             (None, 4)                 36        |
|                                                               |
| dense_1 (Dense)           (None, 4)                 20        |
¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯
 dense_2 (Dense)             (None, 1)                 5
=================================================================
Total params: 61
Trainable params: 61
Non-trainable params: 0
`
	for name, text := range map[string]string{"rich": rich, "plain": plain} {
		f, err := Read(strings.NewReader(text), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		activations, known := f.Model.Activations()
		if f.Model.Params() != 61 || f.TotalParams != profile.Some(int64(61)) || f.Model.Unknown() != 0 || activations != 9 || !known {
			t.Errorf("%s: %d parameters of %v, %d activations, %v unknown; want 61, 9", name, f.Model.Params(), f.TotalParams, activations, f.Model.Unknown())
		}
		if told := strings.Contains(strings.Join(f.Spec(1).Warnings, "\n"), "holds 124 of the optimiser"); told != (name == "rich") {
			t.Errorf("%s: warnings %v", name, f.Warnings)
		}
	}
	twice := strings.Replace(plain, "| dense_1 (Dense)           (None, 4)                 20        |", " dense_1 (Dense)             (None, 4)                 20", 1)
	if f, err := Read(strings.NewReader(strings.Replace(twice, "(Sequential)", "(Own)       ", 1)), nil); err != nil || f.Model.Unknown()&profile.ParamCounts == 0 {
		t.Errorf("rows that add up to more than the total: %v, %+v", err, f)
	}
}
