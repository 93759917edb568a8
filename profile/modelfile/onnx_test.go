package modelfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// proto writes protobuf fields.
type proto []byte

const wireBytes = 2 // a field with a length

func (p proto) int(number int, v int64) proto {
	return binary.AppendUvarint(binary.AppendUvarint(p, uint64(number)<<3), uint64(v))
}

func (p proto) bytes(number int, b []byte) proto {
	return append(binary.AppendUvarint(binary.AppendUvarint(p, uint64(number)<<3|wireBytes), uint64(len(b))), b...)
}

func (p proto) text(number int, s string) proto { return p.bytes(number, []byte(s)) }

// graphMaker builds ONNX graphs node by node.
type graphMaker struct {
	nodes, weights proto
	tensors        []proto // initializers without data
	data           int     // bytes of data behind each initializer
	count          int
	c              int64  // channels of the current value
	value          string // current value
}

func newGraph(channels, image int64) *graphMaker {
	return &graphMaker{c: channels, value: "input", weights: proto{}.bytes(11, valueInfo("input", 1, channels, image, image))}
}

func valueInfo(name string, dims ...int64) []byte {
	var shape proto
	for _, d := range dims {
		shape = shape.bytes(1, proto{}.int(1, d))
	}
	return proto{}.text(1, name).bytes(2, proto{}.bytes(1, proto{}.int(1, 1).bytes(2, shape)))
}

// weight adds an initializer and returns its name.
func (g *graphMaker) weight(packed bool, dims ...int64) string {
	g.count++
	name := fmt.Sprintf("w%d", g.count)
	var t proto
	if packed {
		var list proto
		for _, d := range dims {
			list = binary.AppendUvarint(list, uint64(d))
		}
		t = t.bytes(1, list)
	} else {
		for _, d := range dims {
			t = t.int(1, d)
		}
	}
	g.tensors = append(g.tensors, t.int(2, 1).text(8, name))
	return name
}

func (g *graphMaker) node(op string, ints map[string][]int64, inputs ...string) *graphMaker {
	g.count++
	var n proto
	for _, in := range append([]string{g.value}, inputs...) {
		n = n.text(1, in)
	}
	g.value = fmt.Sprintf("v%d", g.count)
	n = n.text(2, g.value).text(3, op+g.value).text(4, op)
	for _, key := range []string{"kernel_shape", "pads", "strides", "group", "transB", "axis"} {
		if list, ok := ints[key]; ok {
			a := proto{}.text(1, key)
			number := 8
			if len(list) == 1 {
				number = 3
			}
			for _, v := range list {
				a = a.int(number, v)
			}
			n = n.bytes(5, a)
		}
	}
	g.nodes = g.nodes.bytes(1, n)
	return g
}

func (g *graphMaker) conv(out, kernel, stride int64) *graphMaker {
	pad := (kernel - 1) / 2
	w := g.weight(true, out, g.c, kernel, kernel)
	g.c = out
	g.node("Conv", map[string][]int64{"pads": {pad, pad, pad, pad}, "strides": {stride, stride}}, w)
	return g.node("BatchNormalization", nil, g.weight(false, out), g.weight(false, out), g.weight(false, out), g.weight(false, out))
}

// pieces are the parts of the file between which the data of initializers lies.
func (g *graphMaker) pieces() []proto {
	graph := append(append(proto{}, g.nodes...), g.weights...).text(2, "made up")
	total := int64(len(graph))
	var list []proto
	for _, t := range g.tensors {
		data := binary.AppendUvarint(proto{9<<3 | wireBytes}, uint64(g.data))
		whole := uint64(len(t) + len(data) + g.data)
		piece := append(append(binary.AppendUvarint(proto{5<<3 | wireBytes}, whole), t...), data...)
		list = append(list, piece)
		total += int64(len(piece) + g.data)
	}
	head := binary.AppendUvarint(append(proto{}.int(1, 8).text(2, "a test"), 7<<3|wireBytes), uint64(total))
	return append([]proto{append(head, graph...)}, list...)
}

func (g *graphMaker) model() []byte {
	pieces := g.pieces()
	model := bytes.Clone(pieces[0])
	for _, p := range pieces[1:] {
		model = append(append(model, p...), make([]byte, g.data)...)
	}
	return model
}

// onnxResNet50 is the network of nets_test.go as a graph.
func onnxResNet50(data int) *graphMaker {
	g := newGraph(3, 224)
	g.data = data
	g.conv(64, 7, 2).node("Relu", nil).node("MaxPool", map[string][]int64{"kernel_shape": {3, 3}, "pads": {1, 1, 1, 1}, "strides": {2, 2}})
	for stage, blocks := range []int{3, 4, 6, 3} {
		width, stride := int64(64)<<stage, int64(1)
		if stage > 0 {
			stride = 2
		}
		for i := range blocks {
			in, c := g.value, g.c
			g.conv(width, 1, 1).node("Relu", nil).conv(width, 3, stride).node("Relu", nil).conv(4*width, 1, 1)
			out := g.value
			if i == 0 {
				g.value, g.c = in, c
				g.conv(4*width, 1, stride)
				in = g.value
			}
			g.value = out
			g.node("Add", nil, in).node("Relu", nil)
			stride = 1
		}
	}
	g.node("GlobalAveragePool", nil).node("Flatten", nil)
	return g.node("Gemm", map[string][]int64{"transB": {1}}, g.weight(true, 1000, 2048), g.weight(true, 1000))
}

func TestONNXResNet50(t *testing.T) {
	f, err := Read(bytes.NewReader(onnxResNet50(8).model()), nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ReadFile("testdata/resnet50.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Format != ONNX || f.Model.Params() != 25_557_032 || f.TotalParams.Or(0) != 25_610_152 || f.Model.Name != "made up" {
		t.Errorf("got %v %q, %d parameters, %v in all", f.Format, f.Model.Name, f.Model.Params(), f.TotalParams)
	}
	if !strings.Contains(fmt.Sprint(f.Warnings), "53120 of 25610152 initializer elements are statistics") {
		t.Errorf("got %v", f.Warnings)
	}
	got, ok := f.Model.MACs()
	macs, _ := want.Model.MACs()
	if activationsOf(f.Model) != activationsOf(want.Model) || got != macs || !ok {
		t.Errorf("got %d activations, %d multiply-adds, want %d, %d", activationsOf(f.Model), got, activationsOf(want.Model), macs)
	}
	if f.SampleElements != profile.Some[int64](3*224*224) || f.BatchSize != profile.Some(1) {
		t.Errorf("got %v elements a sample, batch %v", f.SampleElements, f.BatchSize)
	}
}

// TestONNXWithoutSeeking reads the same from a stream.
func TestONNXWithoutSeeking(t *testing.T) {
	f, err := Read(io.MultiReader(bytes.NewReader(onnxResNet50(5000).model())), nil)
	if err != nil || f.Model.Params() != 25_557_032 {
		t.Errorf("got %v, %v", f, err)
	}
}

func TestONNXShapes(t *testing.T) {
	g := newGraph(8, 10)
	left := g.node("Conv", map[string][]int64{"kernel_shape": {3, 3}}, g.weight(true, 4, 8, 3, 3), g.weight(true, 4)).value
	g.value = "input"
	right := g.node("Conv", map[string][]int64{"pads": {0, 0, 0, 0}}, g.weight(true, 2, 8, 3, 3)).value
	g.value = left
	g.node("Concat", map[string][]int64{"axis": {1}}, right).node("Sigmoid", nil)
	g.node("ConvTranspose", map[string][]int64{"strides": {2, 2}}, g.weight(true, 6, 5, 2, 2)).node("Softmax", nil)
	g.node("Reshape", nil).node("Relu", nil) // to a shape that only inference knows
	f, err := readAs(ONNX)(bytes.NewReader(g.model()), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []profile.Layer{
		{Kind: profile.Conv, Neurons: 4, Params: 292, Activations: 4 * 64},
		{Kind: profile.Conv, Neurons: 2, Params: 144, Activations: 2 * 64},
		{Kind: profile.Activation, Activations: 6 * 64},
		{Kind: profile.Conv, Neurons: 5, Params: 120, Activations: 5 * 256},
		{Kind: profile.Activation, Activations: 5 * 256},
		{Kind: profile.Activation},
	}
	for i, l := range f.Model.Layers {
		w := want[i]
		if l.Kind != w.Kind || l.Neurons != w.Neurons || l.Params != w.Params || l.Activations != w.Activations {
			t.Errorf("%d: got %+v, want %+v", i, l, w)
		}
	}
	if len(f.Model.Layers) != len(want) || !strings.Contains(fmt.Sprint(f.Warnings), "1 layers have no known output shape") {
		t.Errorf("got %d layers, %v", len(f.Model.Layers), f.Warnings)
	}
}

// TestONNXTransformer has a product of two activations, a tied table, a
// constant inside a node and an integer initializer.
func TestONNXTransformer(t *testing.T) {
	g := newGraph(16, 4)
	table := g.weight(true, 100, 8)
	g.weights = g.weights.bytes(5, proto{}.int(1, 4).int(2, 7).text(8, "shape"))
	g.weights = g.weights.bytes(13, valueInfo("stated", 1, 16, 8))
	g.node("Gather", nil, table)
	g.node("MatMul", nil, g.value).node("Softmax", nil)
	g.node("MatMul", nil, table).node("Reshape", nil, "shape")
	constant := proto{}.text(2, "c").text(4, "Constant").bytes(5, proto{}.text(1, "value").bytes(5, proto{}.int(1, 3).int(2, 1)))
	g.nodes = g.nodes.bytes(1, constant)
	g.node("Add", nil, "c")
	f, err := readAs(ONNX)(bytes.NewReader(g.model()), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range f.Model.Layers {
		got = append(got, fmt.Sprint(l.Kind, " ", l.Params))
	}
	if want := "embedding 800,attention 0,activation 0,linear 0,other 3"; strings.Join(got, ",") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestONNXTiedHead has a head that uses the transposed embedding.
func TestONNXTiedHead(t *testing.T) {
	g := newGraph(16, 4)
	table := g.weight(true, 100, 8)
	g.node("Gather", nil, table)
	g.nodes = g.nodes.bytes(1, proto{}.text(1, table).text(2, "turned").text(4, "Transpose"))
	g.node("MatMul", nil, "turned")
	f, err := readAs(ONNX)(bytes.NewReader(g.model()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Model.Layers) != 2 || f.Model.Params() != 800 || f.TotalParams.Or(0) != 800 || f.Model.Layers[1].Kind != profile.Linear {
		t.Errorf("got %+v", f.Model.Layers)
	}
}

func TestONNXErrors(t *testing.T) {
	graph := func(g proto) []byte { return proto{}.int(1, 8).bytes(7, g) }
	length := func(n uint64) []byte { return binary.AppendUvarint(append(proto{}.int(1, 8), 7<<3|wireBytes), n) }
	nested := func(n int) (deep proto) {
		for range n {
			deep = proto{}.bytes(1, proto{}.text(4, "If").bytes(5, proto{}.bytes(6, deep)))
		}
		return deep
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "holds no graph"},
		{"text", []byte("no protobuf at all, sorry"), "wire type"},
		{"1 TB graph", length(1 << 40), "field 7 of 1099511627776 bytes passes the end"},
		{"largest length", length(math.MaxUint64), "passes the end"},
		{"1 TB initializer", graph(binary.AppendUvarint(proto{5<<3 | wireBytes}, 1<<40)), "passes the end of its message"},
		{"endless varint", bytes.Repeat([]byte{0xff}, 30), "a varint longer than 64 bits"},
		{"group", []byte{8, 1, 0x3b}, "wire type 3"},
		{"negative dimension", graph(proto{}.bytes(5, proto{}.int(1, -4).int(2, 1).text(8, "w"))), `tensor "w" at offset`},
		{"graphs in graphs", graph(nested(1000)), "graphs nest deeper than 64"},
		{"the deepest", graph(nested(64)), "of the graph's 64 operators"},
		{"one deeper", graph(nested(65)), "graphs nest deeper than 64"},
		{"cut off", onnxResNet50(0).model()[:5000], "passes the end"},
		{"attribute no message", graph(proto{}.bytes(1, proto{}.int(5, 1))), "an attribute is no message"},
		{"dimensions no list", graph(proto{}.bytes(5, append(proto{1<<3 | 1}, make([]byte, 8)...))), `tensor "" at offset`},
		{"input's name no text", graph(proto{}.bytes(11, proto{}.int(1, 1))), "field 1 is no text"},
		{"dimension no message", graph(proto{}.bytes(11, proto{}.text(1, "x").bytes(2, proto{}.bytes(1, proto{}.bytes(2, proto{}.bytes(1, []byte{0x0b})))))), "wire type 3"},
		{"tensor no message", graph(proto{}.bytes(1, proto{}.bytes(5, proto{}.int(5, 1)))), "a tensor is no message"},
		{"a node more", graph(bytes.Repeat([]byte{0x0a, 0}, scan.MaxLayers+1)), "names and shapes take more than 67108864 bytes"},
		{"text no text", graph(proto{}.bytes(1, proto{}.int(1, 1))), "field 1 is no text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := readAs(ONNX)(bytes.NewReader(c.data), nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestONNXStreamOfLies has a length that only the end of the stream refutes.
func TestONNXStreamOfLies(t *testing.T) {
	data := binary.AppendUvarint(append(proto{}.int(1, 8), 9<<3|wireBytes), 1<<40)
	_, err := readAs(ONNX)(io.MultiReader(bytes.NewReader(data)), nil)
	if err == nil || !strings.Contains(err.Error(), "passes the end of the file") {
		t.Errorf("got %v", err)
	}
}

func FuzzReadONNX(f *testing.F) {
	f.Add(onnxResNet50(0).model()[:4000])
	f.Add(newGraph(3, 32).conv(8, 3, 1).node("Relu", nil).node("GlobalAveragePool", nil).model())
	g := newGraph(8, 10)
	f.Add(g.node("ConvTranspose", map[string][]int64{"strides": {2, 2}}, g.weight(true, 8, 5, 2, 2)).node("Concat", map[string][]int64{"axis": {1}}, "input").model())
	f.Fuzz(func(t *testing.T, data []byte) {
		seeking, err := readAs(ONNX)(bytes.NewReader(data), nil)
		if err == nil {
			checkFile(t, seeking)
		}
		streaming, serr := readAs(ONNX)(io.MultiReader(bytes.NewReader(data)), nil)
		if (err == nil) != (serr == nil) || err == nil && seeking.Model.Params() != streaming.Model.Params() {
			t.Errorf("a stream gives %v, a file %v", serr, err)
		}
	})
}

func ExampleRead_onnx() {
	g := newGraph(3, 32)
	g.conv(16, 3, 1).node("Relu", nil)
	f, err := Read(bytes.NewReader(g.model()), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range f.Model.Layers {
		fmt.Println(l.Kind, l.Params, l.Activations)
	}
	fmt.Println(f.Warnings)
	// Output:
	// conv 432 16384
	// norm 32 16384
	// activation 0 16384
	// [32 of 496 initializer elements are statistics of batch norms and no parameters]
}

// writeHeavy writes ResNet-50 with 500 MB of initializers as a file with holes.
func writeHeavy(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "heavy.onnx")
	w, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	g, size := onnxResNet50(500_000_000/267), int64(0)
	for i, p := range g.pieces() {
		if _, err := w.WriteAt(p, size); err != nil {
			tb.Fatal(err)
		}
		size += int64(len(p) + g.data*min(i, 1))
	}
	if err := errors.Join(w.Truncate(size), w.Close()); err != nil || size < 500_000_000 {
		tb.Fatal(size, err)
	}
	return path
}

// TestONNXMemory checks that 500 MB of weights cost no memory.
func TestONNXMemory(t *testing.T) {
	path := writeHeavy(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f, err := ReadFile(path, nil)
	runtime.ReadMemStats(&after)
	if err != nil || f.Model.Params() != 25_557_032 {
		t.Fatal(f, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4_000_000 {
		t.Errorf("allocated %d bytes, want less than 4 MB", got)
	}
}

func BenchmarkReadONNX(b *testing.B) {
	path := writeHeavy(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadFile(path, nil); err != nil {
			b.Fatal(err)
		}
	}
}
