package dataset

import (
	"strconv"
	"strings"

	"example.com/colloc/profile"
)

// timmModel returns the layers of a timm model whose published architecture is
// plain enough to write down: ViT and DeiT (DOI 10.48550/arXiv.2010.11929), VGG
// (arXiv 1409.1556), ResNeXt and wide ResNet (arXiv 1611.05431, 1605.07146).
// Any other name gives a model without layers.
func timmModel(name string) profile.Model {
	m := profile.Model{Name: name}
	b := &architecture{model: &m}
	switch {
	case strings.HasPrefix(name, "vit_"), strings.HasPrefix(name, "deit_"):
		b.vit(name, true)
	case strings.HasPrefix(name, "vgg"):
		b.vgg(name)
	case strings.HasPrefix(name, "resnext"), strings.HasPrefix(name, "wide_resnet"):
		b.resnet(name, 224)
	}
	return m
}

// conv is a convolution with a square kernel, optionally normalised and followed
// by a ReLU in place.
func (b *architecture) conv(kernel, out, stride, groups int64, norm, relu bool) {
	params := kernel * kernel * b.channels / groups * out
	b.channels, b.side = out, (b.side+stride-1)/stride
	n := b.channels * b.side * b.side
	if !norm {
		params += out
	}
	b.add("conv", profile.Conv, params, n)
	if norm {
		b.add("norm", profile.Norm, 2*out, n)
	}
	if relu {
		b.add("relu", profile.Activation, 0, n)
	}
}

func (b *architecture) pool(stride int64) {
	b.side = (b.side + stride - 1) / stride
	b.add("maxpool", profile.Pool, 0, b.channels*b.side*b.side)
}

// vit is a plain vision transformer, vit_SIZE_patchN_RESOLUTION, whose scores are
// stored or not.
func (b *architecture) vit(name string, fused bool) {
	parts := strings.Split(name, "_")
	if len(parts) != 4 || !strings.HasPrefix(parts[2], "patch") {
		return
	}
	shape, ok := map[string][3]int64{ // width, depth, heads
		"tiny": {192, 12, 3}, "small": {384, 12, 6}, "medium": {512, 12, 8}, "base": {768, 12, 12},
		"large": {1024, 24, 16}, "huge": {1280, 32, 16},
	}[parts[1]]
	edge, err := strconv.Atoi(strings.TrimPrefix(parts[2], "patch"))
	resolution, err2 := strconv.Atoi(parts[3])
	if !ok || err != nil || err2 != nil || edge < 4 || resolution < edge || resolution > 1024 {
		return
	}
	width, patch := shape[0], int64(edge)
	patches := (int64(resolution) / patch) * (int64(resolution) / patch)
	tokens := patches + 1
	stream := tokens * width
	b.model.Family = profile.Transformer
	b.add("patch_embed", profile.Conv, (3*patch*patch+1)*width, patches*width)
	b.add("position", profile.OtherLayer, (tokens+1)*width, stream)
	b.transformer(&blocks{
		width: width, inner: 4 * width, depth: shape[1], heads: shape[2], tokens: tokens, joint: true, fused: fused, first: true, function: "gelu",
	})
	b.add("norm", profile.Norm, 2*width, stream)
	b.add("head", profile.Linear, (width+1)*1000, 1000)
}

// vgg is VGG with or without batch normalisation.
func (b *architecture) vgg(name string) {
	depth, norm := strings.CutSuffix(strings.TrimPrefix(name, "vgg"), "_bn")
	repeat, ok := map[string][5]int64{
		"11": {1, 1, 2, 2, 2}, "13": {2, 2, 2, 2, 2}, "16": {2, 2, 3, 3, 3}, "19": {2, 2, 4, 4, 4},
	}[depth]
	if !ok {
		return
	}
	b.model.Family = profile.CNN
	b.channels, b.side = 3, 224
	for stage, out := range []int64{64, 128, 256, 512, 512} {
		for range repeat[stage] {
			before := b.channels
			b.conv(3, out, 1, 1, norm, true)
			if last := len(b.model.Layers); norm { // VGG's convolutions have a bias all the same
				b.model.Layers[last-3].Params = 9*before*out + out
			}
		}
		b.pool(2)
	}
	for _, fc := range [][2]int64{{512 * 7 * 7, 4096}, {4096, 4096}} {
		b.add("fc", profile.Linear, (fc[0]+1)*fc[1], fc[1])
		b.add("relu", profile.Activation, 0, fc[1])
	}
	b.add("head", profile.Linear, (4096+1)*1000, 1000)
}

// resnet is ResNet-50 and, with the same bottleneck blocks of other widths,
// ResNeXt (resnext50_32x4d) or a wide ResNet (wide_resnet50_2), on square images.
func (b *architecture) resnet(name string, side int64) {
	shape, ok := map[string]struct {
		repeat        [4]int64
		groups, width int64
	}{
		"resnet50":          {[4]int64{3, 4, 6, 3}, 1, 64},
		"resnext50_32x4d":   {[4]int64{3, 4, 6, 3}, 32, 128},
		"resnext101_32x4d":  {[4]int64{3, 4, 23, 3}, 32, 128},
		"resnext101_32x8d":  {[4]int64{3, 4, 23, 3}, 32, 256},
		"resnext101_64x4d":  {[4]int64{3, 4, 23, 3}, 64, 256},
		"resnext101_32x16d": {[4]int64{3, 4, 23, 3}, 32, 512},
		"wide_resnet50_2":   {[4]int64{3, 4, 6, 3}, 1, 128},
		"wide_resnet101_2":  {[4]int64{3, 4, 23, 3}, 1, 128},
	}[name]
	if !ok {
		return
	}
	b.model.Family = profile.CNN
	b.channels, b.side = 3, side
	b.conv(7, 64, 2, 1, true, true)
	b.pool(2)
	for stage, n := range shape.repeat {
		for i := range n {
			stride := int64(1)
			if stage > 0 && i == 0 {
				stride = 2
			}
			b.bottleneck(shape.width<<stage, 256<<stage, stride, shape.groups, i == 0)
		}
	}
	b.add("avgpool", profile.OtherLayer, 0, b.channels)
	b.add("head", profile.Linear, (b.channels+1)*1000, 1000)
}

// bottleneck is 1x1, 3x3, 1x1 with a short cut that the last ReLU adds.
func (b *architecture) bottleneck(width, out, stride, groups int64, project bool) {
	in, side := b.channels, b.side
	if project {
		b.conv(1, out, stride, 1, true, false)
		b.channels, b.side = in, side
	}
	b.conv(1, width, 1, 1, true, true)
	b.conv(3, width, stride, groups, true, true)
	b.conv(1, out, 1, 1, true, true)
}

// mobilenet is MobileNetV2 (arXiv 1801.04381): blocks that widen, filter each channel
// by itself and narrow again.
func (b *architecture) mobilenet(classes int64) {
	b.conv(3, 32, 2, 1, true, true)
	for _, stage := range [][4]int64{{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}} {
		for i := range stage[2] {
			wide, stride := stage[0]*b.channels, stage[3]
			if i > 0 {
				stride = 1
			}
			if stage[0] > 1 {
				b.conv(1, wide, 1, 1, true, true)
			}
			b.conv(3, wide, stride, wide, true, true)
			b.conv(1, stage[1], 1, 1, true, false)
		}
	}
	b.conv(1, 1280, 1, 1, true, true)
	b.add("avgpool", profile.OtherLayer, 0, b.channels)
	b.add("head", profile.Linear, (b.channels+1)*classes, classes)
}

// maskRCNN is Mask R-CNN (arXiv 1703.06870) as torchvision builds it, with ResNet-50 and
// a feature pyramid: 512 regions of an image are classified, of 128 the mask is drawn.
func (b *architecture) maskRCNN(side, classes int64) {
	const width, hidden, regions, drawn = 256, 1024, 512, 128
	b.resnet("resnet50", side)
	b.model.Layers = b.model.Layers[:len(b.model.Layers)-2] // no pool, no classifier
	for level := range int64(4) {
		edge := (side + 4<<level - 1) / (4 << level)
		out := width * edge * edge
		b.add("lateral", profile.Conv, (width<<level*width)+width, out)
		b.add("pyramid", profile.Conv, 9*width*width+width, out)
		b.add("proposal", profile.Conv, 0, out)
		b.add("relu", profile.Activation, 0, out)
	}
	for _, in := range []int64{49 * width, hidden} {
		b.add("box", profile.Linear, (in+1)*hidden, regions*hidden)
		b.add("ReLU", profile.Activation, 0, regions*hidden)
	}
	for range 4 {
		b.add("mask", profile.Conv, 9*width*width+width, drawn*196*width)
		b.add("relu", profile.Activation, 0, drawn*196*width)
	}
	b.add("masks", profile.Conv, (4*width+1)*width, drawn*784*width)
	b.add("head", profile.Linear, (width+1)*classes, drawn*784*classes)
}
