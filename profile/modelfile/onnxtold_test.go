package modelfile

import (
	"strings"
	"testing"
)

// graphOf is a model of parts of a graph.
func graphOf(parts ...proto) string {
	var graph proto
	for _, p := range parts {
		graph = append(graph, p...)
	}
	return string(proto{}.int(1, 8).bytes(7, graph))
}

// op is a node with inputs and outputs, divided by blanks, and attributes.
func op(kind, in, out string, attributes ...proto) proto {
	var n proto
	for name := range strings.FieldsSeq(in) {
		n = n.text(1, name)
	}
	for name := range strings.FieldsSeq(out) {
		n = n.text(2, name)
	}
	n = n.text(4, kind)
	for _, a := range attributes {
		n = n.bytes(5, a)
	}
	return proto{}.bytes(1, n)
}

func ints(name string, list ...int64) proto {
	a := proto{}.text(1, name)
	for _, v := range list {
		a = a.int(8, v)
	}
	return a
}

// inside is an attribute that holds a graph.
func inside(name string, parts ...proto) proto {
	var graph proto
	for _, p := range parts {
		graph = append(graph, p...)
	}
	return proto{}.text(1, name).bytes(6, graph)
}

// stored is an initializer: of floats where kind is 1, of integers where it is 7.
func stored(name string, kind int64, dims ...int64) proto {
	var t proto
	for _, d := range dims {
		t = t.int(1, d)
	}
	return proto{}.bytes(5, t.int(2, kind).text(8, name))
}

// given and stated are the shapes of an input and of a value between; -1 is open.
func given(name string, dims ...int64) proto  { return proto{}.bytes(11, valueInfo(name, dims...)) }
func stated(name string, dims ...int64) proto { return proto{}.bytes(13, valueInfo(name, dims...)) }

// TestONNXTold: what a graph tells.
func TestONNXTold(t *testing.T) {
	const unknown = "\n! 1 layers have no known output shape and unknown activations: run ONNX shape inference first"
	check(t, readText, []sample{
		{"weights that are listed as inputs are no samples", graphOf(given("x", 4, 3, 8, 8), given("w", 2, 3, 3, 3), stored("w", 1, 2, 3, 3, 3), op("Conv", "x w", "y")), `
onnx "", total 54, batch 4, sample 192
y: conv units 2 params 54 out 72 macs 1944`},
		{"an open dimension leaves the sample unknown", graphOf(given("x", 4, -1, 8), stored("w", 1, 8, 2), op("MatMul", "x w", "y")), `
onnx "", total 16, batch 4
y: linear params 16 without activations` + unknown},
		{"a stated shape counts, and one with an open dimension does not", graphOf(given("x", 4, 8), stored("w", 1, 8, 2), stated("y", -1, 5, 7), stated("z", 4, -1, 7),
			op("MatMul", "x w", "y"), op("Softmax", "q", "z")), `
onnx "", total 16, batch 4, sample 8
y: linear units 7 params 16 out 35 macs 80
z: activation without activations` + unknown},
		{"integers and numbers alone are no parameters, and what nobody reads is left out", graphOf(given("x", 4, 8), stored("w", 1, 8, 2), stored("s", 1), stored("i", 7, 5), stored("z", 1, 1),
			op("MatMul", "x w", "y"), op("Mul", "y s", "v"), op("Reshape", "v i", "u")), `
onnx "", total 17, batch 4, sample 8
y: linear units 2 params 16 out 2 macs 16
! 1 of 17 stored elements are read by no layer and left out`},
		{"a product of one input", graphOf(given("x", 4, 8), op("MatMul", "x", "y")), `
onnx "", total 0, batch 4, sample 8
y: attention without activations` + unknown},
		{"weights that are made at run time", graphOf(given("x", 4, 8), op("ConstantOfShape", "s", "w"), op("MatMul", "x w", "y")), `
onnx "", total 0, batch 4, sample 8
y: linear without activations and params` + unknown + `
! 1 layers have weights that the graph makes when it runs: their parameters are unknown`},
		{"of two branches the one with more weights", graphOf(given("x", 4, 4),
			op("If", "c", "y", inside("then_branch", stored("a", 1, 4, 3), op("MatMul", "x a", "u"), stated("u", 4, 3)), inside("else_branch", stored("b", 1, 4, 1), op("MatMul", "x b", "v"), op("Relu", "v", "w"), op("Relu", "w", "z")))), `
onnx "", total 12, batch 4, sample 4
u: linear units 3 params 12 out 3 macs 12
! 1 branches of If are left out; of each the one with the most weights is described`},
		{"of two with as many weights the one with more nodes", graphOf(given("x", 4, 4),
			op("If", "c", "y", inside("then_branch", op("Relu", "x", "a")), inside("else_branch", op("Relu", "x", "b"), op("Relu", "b", "d")))), `
onnx "", total 0, batch 4, sample 4
b: activation out 4
d: activation out 4
! 1 branches of If are left out; of each the one with the most weights is described`},
		{"the body of a loop inside a branch, and branches inside", graphOf(given("x", 4, 4), stated("r", 4, 5), stored("a", 1, 4, 2),
			op("If", "c", "y", inside("then_branch", op("Reshape", "x s", "r"), stated("r", 4, 9), op("Tanh", "r", "t"), op("Reshape", "x s", "v"), stated("v", 4, 6), op("Erf", "v", "e"), op("Loop", "n", "l", inside("body", stored("a", 1, 4, 9), op("MatMul", "x a", "m"))),
				op("If", "c", "k", inside("then_branch", op("Relu", "x", "p")), inside("else_branch", op("Relu", "x", "q")))))), `
onnx "", total 44, batch 4, sample 4
t: activation out 5
e: activation out 6
m: linear units 2 params 8 out 2 macs 8
p: activation out 4
! 36 of 44 stored elements are read by no layer and left out
! 1 branches of If are left out; of each the one with the most weights is described
! the body of Loop or Scan counts once`},
		{"a window over a sequence", graphOf(given("x", 1, 4, 10), op("MaxPool", "x", "y", ints("kernel_shape", 2), ints("strides", 2))), `
onnx "", total 0, batch 1, sample 40
y: pool out 20`},
		{"a window over a vector", graphOf(given("x", 1, 4), op("MaxPool", "x", "y", ints("kernel_shape", 2))), `
onnx "", total 0, batch 1, sample 4
y: pool without activations` + unknown},
		{"windows that round up, or keep the size", graphOf(given("x", 1, 4, 6), op("AveragePool", "x", "y", ints("kernel_shape", 3), ints("strides", 2), ints("ceil_mode", 1)),
			op("MaxPool", "x", "u", ints("kernel_shape", 6), ints("strides", 2), ints("ceil_mode", 1)),
			op("LpPool", "x", "z", ints("kernel_shape", 3), ints("strides", 2), ints("ceil_mode", 0)),
			op("MaxPool", "x", "v", ints("kernel_shape", 5), ints("strides", 2), proto{}.text(1, "auto_pad").text(4, "SAME_UPPER"))), `
onnx "", total 0, batch 1, sample 24
y: pool out 12
u: pool out 4
z: pool out 8
v: pool out 12`},
		{"the largest dimension", graphOf(given("x", 1, 1, 1<<40), op("MaxPool", "x", "y", ints("kernel_shape", 2), ints("strides", 2))), `
onnx "", total 0, batch 1, sample 1099511627776
y: pool out 549755813888`},
		{"more outputs than any layer has", graphOf(given("x", 1, 1<<40, 1<<20), op("Relu", "x", "y")), `modelfile: onnx: layer "y": activations is 1152921504606846976, want 0 to 1e15`},
		{"a statistic of one element", graphOf(given("x", 1, 1, 4, 4), stored("s", 1, 1), stored("b", 1, 1), stored("m", 1, 1), op("BatchNormalization", "x s b m", "y")), `
onnx "", total 3, batch 1, sample 16
y: norm params 2 out 16 macs 16
! 1 of 3 initializer elements are statistics of batch norms and no parameters`},
		{"floats of any width are parameters, integers are none", graphOf(proto{}.bytes(11, append(proto(valueInfo("x", 1, 4)), proto{}.text(3, "with a comment")...)),
			stored("d", 11, 4, 2), stored("f", 20, 4, 2), stored("u", 12, 4, 2), stored("i", 21, 4, 2), op("MatMul", "x d", "a"), op("MatMul", "x f", "b"), op("MatMul", "x u", "c"), op("MatMul", "x i", "e")), `
onnx "", total 16, batch 1, sample 4
a: linear units 2 params 8 out 2 macs 8
b: linear units 2 params 8 out 2 macs 8
c: linear units 2 out 2 macs 0
e: linear units 2 out 2 macs 0`},
		{"named dimensions are open", graphOf(proto{}.bytes(11, proto{}.text(1, "x").bytes(2, proto{}.bytes(1, proto{}.int(1, 1).bytes(2, proto{}.bytes(1, proto{}.text(2, "batch")).bytes(1, proto{}.text(2, "words")).bytes(1, proto{}.int(1, 8)))))),
			given("z", 0, 8), op("Relu", "x", "y"), op("Relu", "z", "v")), `
onnx "", total 0, sample 8
y: activation without activations
v: activation out 8` + unknown},
		{"shapes that stretch to one another", graphOf(given("x", 1, 6, 1), given("y", 1, 4), given("z", 1, 3, 1, 1), op("Mul", "x y", "a"), op("Relu", "a", "b"), op("Add", "y w", "c"), op("Relu", "c", "d"), op("Sum", "a z y", "e"), op("Relu", "e", "f"), op("Add", "w", "g"), op("Relu", "g", "h")), `
onnx "", total 0, batch 1, sample 6
b: activation out 24
d: activation out 4
f: activation out 72
h: activation without activations` + unknown},
		{"a constant in a branch", graphOf(given("x", 1, 4), op("If", "c", "y", inside("then_branch",
			op("Constant", "", "w", proto{}.text(1, "value").bytes(5, proto{}.int(1, 4).int(1, 3).int(2, 1))), op("MatMul", "x w", "z")))), `
onnx "", total 12, batch 1, sample 4
z: linear units 3 params 12 out 3 macs 12`},
		{"a window that leaves nothing", graphOf(given("x", 1, 2, 3), stored("w", 1, 2, 5, 2), op("ConvTranspose", "x w", "y", ints("pads", 4, 4))), `
onnx "", total 20, batch 1, sample 6
y: conv params 20 without activations` + unknown},
		{"an upward window with all its settings", graphOf(given("x", 1, 2, 3), stored("w", 1, 2, 5, 3), op("ConvTranspose", "x w", "y", ints("strides", 2), ints("group", 2), ints("dilations", 2), ints("pads", 1, 2), ints("output_padding", 1))), `
onnx "", total 30, batch 1, sample 6
y: conv units 10 params 30 out 70 macs 210`},
	})
}
