package modelfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/draft"
)

const infoRule = "==========================================================================\n"

// infoTable is a made-up torchinfo output with rows and what stands below.
func infoTable(head, rows, below string) string {
	return infoRule + head + "\n" + infoRule + rows + infoRule + below
}

const infoHead = "Layer (type:depth-idx)                Output Shape              Param #"

// TestTorchInfoCut: at the depth limit the stated sizes tell what the rows hide.
// Two blocks of 4 sequences of 8 positions put out 2 x 4 x 8 x 16 x 5 elements
// from layers with parameters.
func TestTorchInfoCut(t *testing.T) {
	rows := `TinyModel                             [4, 8, 16]                --
├─Embedding: 1-1                      [4, 8, 16]                1,600
├─Encoder: 1-2                        [4, 8, 16]                --
│    └─TinyLayer: 2-1                 [4, 8, 16]                1,000
│    └─TinyLayer: 2-2                 [4, 8, 16]                1,000
`
	const shown, hidden = 4 * 8 * 16, 2 * 4 * 8 * 16 * 5
	below := "Total params: 3,600\nTrainable params: 600\nNon-trainable params: 3,000\nTotal mult-adds (k): 3.00\n" + infoRule +
		"Input size: 1\nForward/backward pass size (kB): 45.056\nParams size (kB): 14.40\nEstimated Total Size (kB): 60\n"
	if 8*(shown+hidden) != 45056 {
		t.Fatal("the made-up total is wrong")
	}
	f, err := Read(strings.NewReader(infoTable(infoHead, strings.ReplaceAll(rows, "Tiny", "Bert"), below)), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := f.Model
	acts, known := m.Activations()
	macs, worked := m.MACs()
	if want := int64(8*16 + 3*hidden/4); acts != want || !known || m.Guess() != profile.Transformer || m.Architecture != "BertModel" {
		t.Errorf("%d activations (%t), want %d; %v %q", acts, known, want, m.Guess(), m.Architecture)
	}
	if macs != 2*8*1000 || !worked || m.Params() != 3600 || m.Trainable() != 600 {
		t.Errorf("%d multiply-adds (%t), %d of %d parameters trained", macs, worked, m.Trainable(), m.Params())
	}

	bare, err := Read(strings.NewReader(infoTable(infoHead, rows, "Total params: 3,600\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if acts, known := bare.Model.Activations(); known {
		t.Errorf("without totals the activations are known to be %d", acts)
	}
}

// TestTorchInfoLeafAtTheLimit: a module of one's own at the deepest level hides
// nothing where its output is all that the stated size leaves.
func TestTorchInfoLeafAtTheLimit(t *testing.T) {
	f, err := Read(strings.NewReader(infoTable(infoHead, `Net                                   [2, 6]                    --
├─Gate: 1-1                           [2, 6]                    12
`, "Total params: 12\nForward/backward pass size: 96\nParams size: 48\nEstimated Total Size: 200\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if acts, known := f.Model.Activations(); acts != 6 || !known || f.Model.Unknown() != 0 {
		t.Errorf("%d activations (%t), unknown %v; want 6", acts, known, f.Model.Unknown())
	}
}

// TestTorchInfoWork: a module that runs again works again, also beside one of the
// same width, and an output without the batch in front divides without rounding
// to nothing.
func TestTorchInfoWork(t *testing.T) {
	f, err := Read(strings.NewReader(infoTable(infoHead, `Net                                   [2, 10]                   --
├─Conv2d: 1-1                         [2, 4, 9, 9]              40
├─Conv2d: 1-2                         [2, 4, 3, 3]              148
├─Conv2d: 1-3                         [2, 4, 9, 9]              (recursive)
├─Conv2d: 1-4                         [2, 4, 3, 3]              (recursive)
├─Linear: 1-5                         [1, 50]                   550
`, "Total params: 738\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	macs, known := f.Model.MACs()
	if want := int64(2*40*81 + 2*148*9 + 550/2); macs != want || !known || f.Model.Params() != 738 {
		t.Errorf("%d multiply-adds (%t), want %d; %d parameters", macs, known, want, f.Model.Params())
	}
}

// TestTorchInfoRowSettings reads trees without a depth in their rows.
func TestTorchInfoRowSettings(t *testing.T) {
	for name, text := range map[string]string{
		"names": infoTable("Layer (type (var_name))               Output Shape              Param #", `Net (Net)                             [5, 2]                    7
├─a                                                             ├─4
├─b                                                             └─3
├─Linear (first)                      [5, 1]                    3
├─Block (inside)                      [5, 1]                    --
│    └─Linear (second)                [5, 1]                    2
│    │    └─weight                                              └─2
`, "Total params: 12\n"),
		"ascii": infoTable("Layer (type)                          Output Shape              Param #", `Net                                   [5, 2]                    7
+ Linear                              [5, 1]                    3
+ Block                               [5, 1]                    --
|    + Linear                         [5, 1]                    2
`, "Total params: 12\n"),
	} {
		f, err := Read(strings.NewReader(text), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if f.Format != TorchInfo || len(f.Model.Layers) != 3 || f.Model.Params() != 12 || len(f.Warnings) > 0 {
			t.Errorf("%s: %v, %+v, %v", name, f.Format, f.Model.Layers, f.Warnings)
		}
	}
}

// TestFamilyOfClasses: names of classes tell the family that leaves do not.
func TestFamilyOfClasses(t *testing.T) {
	for class, want := range map[string]profile.Family{
		"LlamaForCausalLM": profile.Transformer, "PeftModelForCausalLM": profile.Transformer, "ViTModel": profile.Transformer,
		"BertModel": profile.Transformer, "T5ForConditionalGeneration": profile.Transformer, "SwinTransformer": profile.Transformer,
		"ResNet": profile.CNN, "GravityNet": profile.UnknownFamily, "Optimus": profile.UnknownFamily, "LSTMNet": profile.UnknownFamily,
		"\xbf\xbf\xbf\xbftransformer): GPT2Model": profile.Transformer, // lower case, some letters are longer
	} {
		if got := draft.FamilyOfClass(class); got != want {
			t.Errorf("%s is %v, want %v", class, got, want)
		}
	}
}

// TestTorchPrintAdapters: beside adapters everything else is frozen.
func TestTorchPrintAdapters(t *testing.T) {
	f, err := Read(strings.NewReader(`PeftModelForCausalLM(
  (base_model): LoraModel(
    (q_proj): lora.Linear(
      (base_layer): Linear(in_features=64, out_features=64, bias=False)
      (lora_A): ModuleDict(
        (default): Linear(in_features=64, out_features=4, bias=False)
      )
      (lora_B): ModuleDict(
        (default): Linear(in_features=4, out_features=64, bias=False)
      )
    )
  )
)
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if m := f.Model; m.Params() != 64*64+2*4*64 || m.Trainable() != 2*4*64 || m.Guess() != profile.Transformer || m.Architecture != "PeftModelForCausalLM" {
		t.Errorf("%d of %d trained, %v %q", m.Trainable(), m.Params(), m.Guess(), m.Architecture)
	}
}

// TestKerasSummary reads both looks of model.summary().
func TestKerasSummary(t *testing.T) {
	for name, text := range map[string]string{
		"blanks": `Model: "sequential"
_________________________________________________________________
 Layer (type)                Output Shape              Param #   
=================================================================
 conv2d (Conv2D)             (None, 26, 26, 32)        320       
                                                                 
 batch_normalization (BatchN  (None, 26, 26, 32)       128       
 ormalization)                                                   
                                                                 
 flatten (Flatten)           (None, 21632)             0         
                                                                 
 dense (Dense)               (None, 10)                216330    
                                                                 
=================================================================
Total params: 216,778
Trainable params: 216,714
Non-trainable params: 64
_________________________________________________________________
`,
		"lines": `Model: "sequential"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ conv2d (Conv2D)                 │ (None, 26, 26, 32)     │           320 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ batch_normalization             │ (None, 26, 26, 32)     │           128 │
│ (BatchNormalization)            │                        │               │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ flatten (Flatten)               │ (None, 21632)          │             0 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dense (Dense)                   │ (None, 10)             │       216,330 │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 216,778 (846.79 KB)
 Trainable params: 216,714 (846.54 KB)
 Non-trainable params: 64 (256.00 B)
`,
	} {
		f, err := Read(strings.NewReader(text), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m := f.Model
		acts, known := m.Activations()
		if f.Format != KerasSummary || len(m.Layers) != 4 || m.Params() != 216_778 || m.Trainable() != 216_714 || m.Guess() != profile.CNN ||
			m.Name != "sequential" || acts != 2*26*26*32+21632+10 || !known || m.Layers[0].MACs.Or(0) != 320*26*26 {
			t.Errorf("%s: %v %+v, %v", name, f.Format, m, f.Warnings)
		}
	}
}

func FuzzReadKerasSummary(f *testing.F) {
	f.Add([]byte("Layer (type)                Output Shape              Param #\n====\nconv (Conv2D)             (None, 26, 26, 32)        320\nTotal params: 320\n"))
	f.Add([]byte("┃ Layer (type) ┃ Output Shape ┃ Param # ┃\n│ a (Dense) │ (None, 10) │ 30 │\nTotal params: 30\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if file, err := readAs(KerasSummary)(bytes.NewReader(data), nil); err == nil {
			checkFile(t, file)
		}
	})
}

func ExampleRead_kerasSummary() {
	f, err := Read(strings.NewReader(`Layer (type)                Output Shape              Param #
=================================================================
hidden (Dense)              (None, 32)                25120
=================================================================
Total params: 25,120
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Model.Guess(), f.Model.Params())
	// Output: mlp 25120
}
