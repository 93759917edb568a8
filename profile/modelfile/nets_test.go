package modelfile

import (
	"fmt"
	"strconv"
	"strings"
)

// net builds public architectures layer by layer and prints them as the Python
// tools would. It is how the text files in testdata were made: none is a dump
// of a real run.
type net struct {
	c, h, w int64 // current shape; h 0 is a plain vector of c features
	rows    []row
}

type row struct {
	class  string
	shape  []int64
	params int64
}

func (n *net) add(class string, params int64) *net {
	shape := []int64{n.c}
	if n.h > 0 {
		shape = []int64{n.c, n.h, n.w}
	}
	n.rows = append(n.rows, row{class, shape, params})
	return n
}

func (n *net) conv(out, kernel, stride, groups int64, bias bool) *net {
	params := n.c / groups * kernel * kernel * out
	if bias {
		params += out
	}
	n.c = out
	pad := (kernel - 1) / 2
	n.h, n.w = (n.h+2*pad-kernel)/stride+1, (n.w+2*pad-kernel)/stride+1
	return n.add("Conv2d", params)
}

func (n *net) bn() *net                { return n.add("BatchNorm2d", 2*n.c) }
func (n *net) relu() *net              { return n.add("ReLU", 0) }
func (n *net) plain(class string) *net { return n.add(class, 0) }
func (n *net) pool(class string, to int64) *net {
	n.h, n.w = to, to
	return n.add(class, 0)
}

func (n *net) linear(out int64) *net {
	in := n.c * max(n.h, 1) * max(n.w, 1)
	n.c, n.h, n.w = out, 0, 0
	return n.add("Linear", (in+1)*out)
}

// resnet is the network of He et al. (2016), doi:10.1109/CVPR.2016.90.
func resnet(image int64, depth []int, bottleneck bool, classes int64) *net {
	n := &net{c: 3, h: image, w: image}
	if image >= 64 {
		n.conv(64, 7, 2, 1, false).bn().relu().pool("MaxPool2d", (n.h+1)/2)
	} else {
		n.conv(64, 3, 1, 1, false).bn().relu()
	}
	for stage, blocks := range depth {
		width, stride := int64(64)<<stage, int64(1)
		if stage > 0 {
			stride = 2
		}
		for range blocks {
			n.residual(width, stride, bottleneck)
			stride = 1
		}
	}
	return n.pool("AdaptiveAvgPool2d", 1).linear(classes)
}

func (n *net) residual(width, stride int64, bottleneck bool) {
	in := *n
	class, out := "BasicBlock", width
	if bottleneck {
		class, out = "Bottleneck", 4*width
		n.conv(width, 1, 1, 1, false).bn().relu()
		n.conv(width, 3, stride, 1, false).bn().relu()
		n.conv(out, 1, 1, 1, false).bn()
	} else {
		n.conv(width, 3, stride, 1, false).bn().relu()
		n.conv(width, 3, 1, 1, false).bn()
	}
	if in.c != out || stride > 1 {
		n.c, n.h, n.w = in.c, in.h, in.w
		n.conv(out, 1, stride, 1, false).bn()
	}
	n.relu().plain(class)
}

// vgg19 is configuration E of Simonyan and Zisserman (2015).
func vgg19() *net {
	n := &net{c: 3, h: 224, w: 224}
	for stage, convs := range []int{2, 2, 4, 4, 4} {
		for range convs {
			n.conv(min(int64(64)<<stage, 512), 3, 1, 1, true).relu()
		}
		n.pool("MaxPool2d", n.h/2)
	}
	n.pool("AdaptiveAvgPool2d", 7)
	n.linear(4096).relu().plain("Dropout").linear(4096).relu().plain("Dropout")
	return n.linear(1000)
}

// mobilenetV2 is the network of Sandler et al. (2018),
// doi:10.1109/CVPR.2018.00474.
func mobilenetV2() *net {
	n := &net{c: 3, h: 224, w: 224}
	n.conv(32, 3, 2, 1, false).bn().plain("ReLU6")
	for _, stage := range []struct{ expand, out, blocks, stride int64 }{
		{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
	} {
		for i := range stage.blocks {
			stride := int64(1)
			if i == 0 {
				stride = stage.stride
			}
			hidden := n.c * stage.expand
			if stage.expand > 1 {
				n.conv(hidden, 1, 1, 1, false).bn().plain("ReLU6")
			}
			n.conv(hidden, 3, stride, hidden, false).bn().plain("ReLU6")
			n.conv(stage.out, 1, 1, 1, false).bn().plain("InvertedResidual")
		}
	}
	n.conv(1280, 1, 1, 1, false).bn().plain("ReLU6")
	n.c, n.h, n.w = 1280, 0, 0
	return n.plain("Dropout").linear(1000)
}

// mlp classifies MNIST digits.
func mlp() *net {
	n := &net{c: 784}
	n.plain("Flatten")
	for range 3 {
		n.linear(2048).relu().plain("Dropout")
	}
	return n.linear(10)
}

// neuMF is neural collaborative filtering, He et al. (2017),
// doi:10.1145/3038912.3052569, with the users and items of MovieLens 20M.
func neuMF() *net {
	const users, items, factors = 138_493, 26_744, 64
	n := &net{c: factors}
	for _, table := range []struct{ rows, width int64 }{{users, factors}, {items, factors}, {users, 2 * factors}, {items, 2 * factors}} {
		n.c = table.width
		n.add("Embedding", table.rows*table.width)
	}
	n.c = 4 * factors
	for _, width := range []int64{256, 128, 64} {
		n.linear(width).relu()
	}
	n.c = 2 * factors
	return n.linear(1).plain("Sigmoid")
}

// torchsummary prints the net as the tool of that name does; batch -1 is open.
func (n *net) torchsummary(batch int, inputElements int64) string {
	var b strings.Builder
	rule, double := strings.Repeat("-", 64), strings.Repeat("=", 64)
	fmt.Fprintf(&b, "%s\n%20s  %25s %15s\n%s\n", rule, "Layer (type)", "Output Shape", "Param #", double)
	var params, outputs int64
	for i, r := range n.rows {
		dims := []string{strconv.Itoa(batch)}
		elements := int64(1)
		for _, d := range r.shape {
			dims = append(dims, strconv.FormatInt(d, 10))
			elements *= d
		}
		fmt.Fprintf(&b, "%20s  %25s %15s\n", r.class+"-"+strconv.Itoa(i+1), "["+strings.Join(dims, ", ")+"]", commas(r.params))
		params, outputs = params+r.params, outputs+elements
	}
	scale := 4 * float64(max(batch, 1)) / (1 << 20)
	input, pass, weights := float64(inputElements)*scale, 2*float64(outputs)*scale, 4*float64(params)/(1<<20)
	fmt.Fprintf(&b, "%s\nTotal params: %s\nTrainable params: %s\nNon-trainable params: 0\n%s\n", double, commas(params), commas(params), rule)
	fmt.Fprintf(&b, "Input size (MB): %.2f\nForward/backward pass size (MB): %.2f\nParams size (MB): %.2f\n", input, pass, weights)
	fmt.Fprintf(&b, "Estimated Total Size (MB): %.2f\n%s\n", input+pass+weights, rule)
	return b.String()
}

func commas(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
