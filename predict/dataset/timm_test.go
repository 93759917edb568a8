package dataset

import (
	"testing"

	"example.com/colloc/profile"
)

// TestTimmModelsAsPublished: parameters to the last one, and the outputs of convolutions
// and dense layers in millions, counted as timm's benchmark tables do.
func TestTimmModelsAsPublished(t *testing.T) {
	for _, c := range []struct {
		name   string
		params int64
		macts  float64
	}{
		{"vit_tiny_patch16_224", 5_717_416, 4.12},
		{"vit_base_patch16_224", 86_567_656, 16.49},
		{"vit_base_patch16_384", 86_859_496, 48.30},
		{"deit_small_patch16_224", 22_050_664, 8.25},
		{"vit_large_patch16_224", 304_326_632, 43.78},
		{"vgg11", 132_863_336, 7.44},
		{"vgg13", 133_047_848, 12.25},
		{"vgg16", 138_357_544, 13.56},
		{"vgg16_bn", 138_365_992, 13.56},
		{"vgg19", 143_667_240, 14.86},
		{"resnext50_32x4d", 25_028_904, 14.40},
		{"resnext101_32x8d", 88_791_336, 31.21},
		{"resnext101_64x4d", 83_455_272, 31.21},
		{"wide_resnet50_2", 68_883_240, 14.40},
		{"wide_resnet101_2", 126_886_696, 21.23},
	} {
		m := timmModel(c.name)
		var outputs int64
		for _, l := range m.Layers {
			if l.Kind == profile.Conv || l.Kind == profile.Linear {
				outputs += l.Activations
			}
			if l.InPlace != (l.Name == "relu" || l.Name == "fused") { // ReLUs overwrite, and fused attention keeps no matrix
				t.Errorf("%s: %s in place: %v", c.name, l.Name, l.InPlace)
			}
		}
		if got := float64(outputs) / 1e6; m.Params() != c.params || got < c.macts-0.02 || got > c.macts+0.02 {
			t.Errorf("%s: %d parameters and %.3f million outputs, want %d and %.2f", c.name, m.Params(), got, c.params, c.macts)
		}
	}
}

// outputsOf sums the elements that the layers of one kind put out for one sample.
func outputsOf(m *profile.Model, kind profile.LayerKind) (layers int, elements int64) {
	for _, l := range m.Layers {
		if l.Kind == kind {
			layers++
			elements += l.Activations
		}
	}
	return layers, elements
}

// TestTimmOutputs: what the layers between the dense ones and the convolutions put out.
func TestTimmOutputs(t *testing.T) {
	for _, c := range []struct {
		name     string
		kind     profile.LayerKind
		layers   int
		elements int64
	}{
		// DeiT tiny: 12 blocks, 3 heads, 196 patches and a class token, 192 wide.
		{"deit_tiny_patch16_224", profile.Attention, 12, 12 * 3 * 197 * 197},
		{"deit_tiny_patch16_224", profile.Norm, 25, 25 * 197 * 192},
		{"deit_tiny_patch16_224", profile.Activation, 12, 12 * 197 * 4 * 192},
		{"deit_tiny_patch16_224", profile.OtherLayer, 1, 197 * 192},
		// VGG-11: pools after 1, 2, 4, 6 and 8 convolutions.
		{"vgg11", profile.Pool, 5, 64*112*112 + 128*56*56 + 256*28*28 + 512*14*14 + 512*7*7},
		{"vgg11", profile.Activation, 10, 64*224*224 + 128*112*112 + 2*256*56*56 + 2*512*28*28 + 2*512*14*14 + 2*4096},
		{"vgg11", profile.Norm, 0, 0},
		{"vgg11_bn", profile.Norm, 8, 64*224*224 + 128*112*112 + 2*256*56*56 + 2*512*28*28 + 2*512*14*14},
		// ResNet with 50 layers: one pool before the blocks, one for each channel at the end.
		{"wide_resnet50_2", profile.Pool, 1, 64 * 56 * 56},
		{"wide_resnet50_2", profile.OtherLayer, 1, 2048},
		{"wide_resnet50_2", profile.Norm, 53, 14_400_512},
		// All but the four projections are followed by a ReLU.
		{"wide_resnet50_2", profile.Activation, 49, 14_400_512 - 256*56*56 - 512*28*28 - 1024*14*14 - 2048*7*7},
	} {
		m := timmModel(c.name)
		if n, elements := outputsOf(&m, c.kind); n != c.layers || elements != c.elements {
			t.Errorf("%s: %d layers of %v put out %d, want %d and %d", c.name, n, c.kind, elements, c.layers, c.elements)
		}
	}
}

// TestTimmOthersHaveNoLayers: a network is written down whole or not at all.
func TestTimmOthersHaveNoLayers(t *testing.T) {
	for name, known := range map[string]bool{
		"vit_tiny_patch4_4": true, "vgg11": true, "wide_resnet50_2": true, "vit_tiny_patch16_1024": true,
		"vit_tiny_patch3_224": false, "vit_tiny_patch16_15": false, "vit_tiny_patch16_1025": false,
		"vit_giant_patch16_224": false, "vit_tiny_16_224": false, "vit_tiny_patchx_224": false, "vit_tiny_patch16_x": false,
		"vit_tiny_patch16_224_miil": false, "vgg12": false, "resnext26ts": false, "resnet50": false, "": false,
	} {
		if m := timmModel(name); (len(m.Layers) > 0) != known || (m.Family != profile.UnknownFamily) != known || m.Name != name {
			t.Errorf("%q: %d layers of %v, want layers: %v", name, len(m.Layers), m.Family, known)
		}
	}
}
