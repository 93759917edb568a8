package modelfile

import (
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// TestTorchInfoCounts: the leaves work as torchinfo counts: a norm, a class of
// one's own and a slope are their parameters once a sample, a block of one's own
// over positions its parameters at each, a vector is one for the whole batch, and a
// parameter beside modules does nothing.
func TestTorchInfoCounts(t *testing.T) {
	f, err := Read(strings.NewReader(infoTable(infoHead, `Net                                   [2, 10]                   7
├─Conv2d: 1-1                         [2, 4, 9, 9]              40
├─BatchNorm2d: 1-2                    [2, 4, 9, 9]              8
├─Scale: 1-3                          [2, 5]                    5
├─ReLUConvBN: 1-4                     [2, 4, 9, 9]              44
├─PReLU: 1-5                          [2, 5]                    1
├─Linear: 1-6                         [10]                      110
`, "Total params: 215\nForward/backward pass size: 15792\nParams size: 860\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	macs, known := f.Model.MACs()
	if want := int64(40*81 + 8 + 5 + 44*81 + 1 + 110/2); macs != want || !known {
		t.Errorf("%d multiply-adds (%t), want %d", macs, known, want)
	}
	if f.BatchSize != profile.Some(2) || f.Model.Params() != 215 || len(f.Warnings) != 0 {
		t.Errorf("batch %v, %d parameters, %v", f.BatchSize, f.Model.Params(), f.Warnings)
	}
	if l := f.Model.Layers[4]; l.Kind != profile.OtherLayer || l.Params != 44 {
		t.Errorf("%+v, want a block, not the non-linearity that its name begins with", l)
	}
}

// TestTorchInfoStatedWork: where the table states the multiply-adds, the classes of
// one's own share what the others leave.
func TestTorchInfoStatedWork(t *testing.T) {
	f, err := Read(strings.NewReader(infoTable(infoHead, `Net                                   [2, 4, 9, 9]              --
├─Conv2d: 1-1                         [2, 4, 9, 9]              40
├─Block: 1-2                          [2, 4, 9, 9]              44
`, "Total params: 84\nTotal mult-adds: 10000\nForward/backward pass size: 10368\nParams size: 336\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Model.Layers[1].MACs; got != profile.Some[int64](10000/2-40*81) {
		t.Errorf("the block works %v, want what is left of 5000", got)
	}
}

// TestTorchInfoTables: of two tables of one model the one with shapes, or deeper,
// is read; a table of another model is not.
func TestTorchInfoTables(t *testing.T) {
	const total = "Total params: 110\nTrainable params: 110\nNon-trainable params: 0\n"
	bare := infoTable("Layer (type:depth-idx)                Param #", "Net                                   --\n├─Linear: 1-1                         110\n", total)
	shapes := infoTable(infoHead, `Net                                   [2, 10]                   --
├─Head: 1-1                           [2, 10]                   110
`, total)
	deep := infoTable(infoHead, `Net                                   [2, 10]                   --
├─Head: 1-1                           [2, 10]                   --
│    └─Linear: 2-1                    [2, 10]                   110
`, total)
	other := infoTable(infoHead, `Net                                   [2, 10]                   --
├─Head: 1-1                           [2, 10]                   --
│    └─Linear: 2-1                    [2, 10]                   220
`, "Total params: 220\n")
	for name, c := range map[string]struct {
		text  string
		layer string
	}{
		"with shapes":   {bare + shapes, "Head: 1-1"},
		"deeper":        {shapes + deep, "Linear: 2-1"},
		"another model": {shapes + other, "Head: 1-1"},
		"a third":       {bare + shapes + deep, "Head: 1-1"},
		"shallower":     {deep + shapes, "Linear: 2-1"},
	} {
		f, err := Read(strings.NewReader(c.text), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := f.Model.Layers[0].Name; got != c.layer || f.Model.Params() != 110 || f.TotalParams != profile.Some[int64](110) {
			t.Errorf("%s: %s, %d parameters of %v, want %s", name, got, f.Model.Params(), f.TotalParams, c.layer)
		}
	}
}
