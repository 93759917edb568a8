package modelfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/draft"
)

// torchinfo prints the net as the tool of that name does, as one Sequential.
func (n *net) torchinfo(batch int64) string {
	var b strings.Builder
	rule := strings.Repeat("=", 90)
	fmt.Fprintf(&b, "%s\n%-40s %-25s %-15s\n%s\n", rule, "Layer (type:depth-idx)", "Output Shape", "Param #", rule)
	shape := func(r row) string {
		dims := []string{strconv.FormatInt(batch, 10)}
		for _, d := range r.shape {
			dims = append(dims, strconv.FormatInt(d, 10))
		}
		return "[" + strings.Join(dims, ", ") + "]"
	}
	fmt.Fprintf(&b, "%-40s %-25s %-15s\n", "Net", shape(n.rows[len(n.rows)-1]), "--")
	fmt.Fprintf(&b, "%-40s %-25s %-15s\n", "├─Sequential: 1-1", shape(n.rows[len(n.rows)-1]), "--")
	total := int64(0)
	for i, r := range n.rows {
		if _, known := draft.KindOfClass(r.class); !known {
			continue // containers stand above their parts, not behind them
		}
		params := "--"
		if r.params > 0 {
			params = commas(r.params)
		}
		total += r.params
		fmt.Fprintf(&b, "%-40s %-25s %-15s\n", fmt.Sprintf("│    └─%s: 2-%d", r.class, i+1), shape(r), params)
	}
	fmt.Fprintf(&b, "%s\nTotal params: %s\nTrainable params: %s\nNon-trainable params: 0\n", rule, commas(total), commas(total))
	return b.String()
}

func TestTorchInfo(t *testing.T) {
	n := resnet(224, []int{3, 4, 6, 3}, true, 1000)
	f, err := Read(strings.NewReader(n.torchinfo(16)), nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := readAs(TorchSummary)(strings.NewReader(n.torchsummary(16, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := f.Model.MACs()
	macs, _ := want.Model.MACs()
	for _, l := range want.Model.Layers { // torchinfo counts a norm's parameters once, not each element
		if l.Kind == profile.Norm {
			macs += l.Params - l.MACs.Or(0)
		}
	}
	if f.Format != TorchInfo || f.Model.Params() != 25_557_032 || activationsOf(f.Model) != activationsOf(want.Model) || got != macs || !ok {
		t.Errorf("got %v, %d parameters, %d activations, %d multiply-adds", f.Format, f.Model.Params(), activationsOf(f.Model), got)
	}
	if f.BatchSize != profile.Some(16) || len(f.Warnings) != 0 {
		t.Errorf("got batch %v, warnings %v", f.BatchSize, f.Warnings)
	}
}

const treeText = `
=====================================================================================
Layer (type:depth-idx)        Input Shape        Output Shape       Param #    Trainable
=====================================================================================
Net (Net)                     [4, 3]             [4, 2]             768        True
├─Linear (fc1): 1-1           [4, 3]             [4, 5]             20         True
├─Linear (fc1): 1-2           [4, 3]             [4, 5]             (recursive)  True
├─Block (block): 1-3          [4, 5]             [4, 5]             99         Partial
│    └─Linear (a): 2-1        [4, 5]             [4, 5]             (30)       False
├─Odd: 1-4                    [4, 5]             [8, 5]             7          True
├─ReLU: 1-5                   [4, 5]             [3, 5]             --         --
=====================================================================================
Total params: 924
`

func TestTorchInfoRows(t *testing.T) {
	f, err := readAs(TorchInfo)(strings.NewReader(treeText), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, l := range f.Model.Layers {
		fmt.Fprintln(&got, l.Name, l.Kind, l.Params, l.Activations)
	}
	const want = `Net (Net) other 768 0
Linear (fc1): 1-1 linear 20 5
Linear (fc1): 1-2 linear 0 5
Block (block): 1-3 other 99 0
Linear (a): 2-1 linear 30 5
Odd: 1-4 other 7 10
ReLU: 1-5 activation 0 4
`
	if got.String() != want {
		t.Errorf("got:\n%swant:\n%s", got.String(), want)
	}
	if len(f.Warnings) != 2 || f.Model.Layers[4].Frozen != 30 || f.Model.Architecture != "Net (Net)"[:3] {
		t.Errorf("got %d warnings: %v", len(f.Warnings), f.Warnings)
	}
}

// printedGPT2 prints GPT-2 as a helper that adds counts behind modules does:
// its total counts containers again.
func printedGPT2(layers, width, vocab int64, counts bool) string {
	var b strings.Builder
	with := func(n int64) string {
		if counts {
			return fmt.Sprintf(", %s params", commas(n))
		}
		return ""
	}
	linear := func(indent, name string, in, out int64) {
		fmt.Fprintf(&b, "%s(%s): Conv1D(nf=%d, nx=%d)%s\n", indent, name, out, in, with((in+1)*out))
	}
	norm := func(indent, name string) {
		fmt.Fprintf(&b, "%s(%s): LayerNorm((%d,), eps=1e-05, elementwise_affine=True)%s\n", indent, name, width, with(2*width))
	}
	block := 12*width*width + 13*width
	body := (vocab+1024)*width + layers*block + 2*width
	fmt.Fprintf(&b, "GPT2LMHeadModel(\n  (transformer): GPT2Model(\n    (wte): Embedding(%d, %d)%s\n    (wpe): Embedding(1024, %d)%s\n",
		vocab, width, with(vocab*width), width, with(1024*width))
	fmt.Fprintf(&b, "    (drop): Dropout(p=0.1, inplace=False)%s\n    (h): ModuleList(\n", with(0))
	write := func(head string) {
		fmt.Fprintf(&b, "      %sGPT2Block(\n", head)
		norm("        ", "ln_1")
		b.WriteString("        (attn): GPT2Attention(\n")
		linear("          ", "c_attn", width, 3*width)
		linear("          ", "c_proj", width, width)
		fmt.Fprintf(&b, "        )%s\n", with(4*width*width+4*width))
		norm("        ", "ln_2")
		b.WriteString("        (mlp): GPT2MLP(\n")
		linear("          ", "c_fc", width, 4*width)
		linear("          ", "c_proj", 4*width, width)
		fmt.Fprintf(&b, "          (act): NewGELUActivation()%s\n        )%s\n      )%s\n", with(0), with(8*width*width+5*width), with(block))
	}
	if counts {
		for i := range layers {
			write(fmt.Sprintf("(%d): ", i))
		}
	} else {
		write(fmt.Sprintf("(0-%d): %d x ", layers-1, layers))
	}
	fmt.Fprintf(&b, "    )%s\n", with(layers*block))
	norm("    ", "ln_f")
	fmt.Fprintf(&b, "  )%s\n  (lm_head): Linear(in_features=%d, out_features=%d, bias=False)%s\n)%s\n",
		with(body), width, vocab, with(vocab*width), with(body+vocab*width))
	if counts {
		fmt.Fprintf(&b, "====\nTotal params: %s\n", commas(3*body))
	}
	return b.String()
}

func TestTorchPrintGPT2(t *testing.T) {
	for _, c := range []struct {
		name          string
		layers, width int64
		counts        bool
		params        int64
	}{
		{"small with counts", 12, 768, true, 124_439_808},
		{"small without", 12, 768, false, 124_439_808},
		{"large with counts", 36, 1280, true, 774_030_080},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Read(strings.NewReader(printedGPT2(c.layers, c.width, 50257, c.counts)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if f.Format != TorchPrint || f.Model.Params() != c.params || f.Model.Name != "GPT2LMHeadModel" {
				t.Errorf("got %v %q, %d parameters, want %d", f.Format, f.Model.Name, f.Model.Params(), c.params)
			}
			text := fmt.Sprint(f.Warnings)
			if !strings.Contains(text, "lm_head has the shape of the embedding and counts as tied") {
				t.Errorf("got %s", text)
			}
			if c.counts && (f.TotalParams.Or(0) <= c.params || !strings.Contains(text, "the leaves, each once, hold")) {
				t.Errorf("total %v, warnings %s", f.TotalParams, text)
			}
			if len(f.Model.Layers) != int(3+7*c.layers+2) {
				t.Errorf("got %d layers", len(f.Model.Layers))
			}
		})
	}
}

func TestTorchPrintArguments(t *testing.T) {
	f, err := readAs(TorchPrint)(strings.NewReader(`Net(
  (a): Conv2d(3, 64, kernel_size=(7, 7), stride=(2, 2), padding=(3, 3), bias=False)
  (b): Conv2d(32, 32, kernel_size=(3, 3), groups=32)
  (c): BatchNorm2d(64, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
  (d): GroupNorm(8, 32, eps=1e-05, affine=True)
  (e): LlamaRMSNorm((4096,), eps=1e-05)
  (f): LSTM(10, 20, num_layers=2, bidirectional=True)
  (g): GRU(10, 20, batch_first=True)
  (h): ReLU(inplace=True)
  (i): Linear(in_features=4, out_features=3, bias=False)
  (j): InstanceNorm2d(8)
  (k): Custom(4, 5)
  (l): LayerNorm((8,), eps=1e-05, elementwise_affine=False)
  (m): 3 x Linear(in_features=1, out_features=1, bias=True)
)`), nil)
	if err != nil {
		t.Fatal(err)
	}
	// LSTM and GRU: the sizes that PyTorch's own parameters() give.
	want := []int64{9408, 320, 128, 64, 4096, 4*20*(10+22)*2 + 4*20*(40+22)*2, 3 * 20 * 32, 0, 12, 0, 0, 0, 2, 2, 2}
	for i, l := range f.Model.Layers {
		if i >= len(want) || l.Params != want[i] {
			t.Errorf("layer %d %s: got %d parameters", i, l.Name, l.Params)
		}
	}
	if len(f.Model.Layers) != len(want) || !f.Model.Layers[7].InPlace || f.Model.Layers[6].Neurons != 20 {
		t.Errorf("got %d layers", len(f.Model.Layers))
	}
	if !strings.Contains(fmt.Sprint(f.Warnings), "1 modules tell no parameters") {
		t.Errorf("got %v", f.Warnings)
	}
}

// TestTorchPrintShared has the table that T5 prints three times.
func TestTorchPrintShared(t *testing.T) {
	f, err := readAs(TorchPrint)(strings.NewReader(`T5ForConditionalGeneration(
  (shared): Embedding(32128, 512), 16,449,536 params
  (encoder): T5Stack(
    (embed_tokens): Embedding(32128, 512), 16,449,536 params
    (relative_attention_bias): Embedding(32, 8), 256 params
    (a): Conv1D(), 100 params
    (r): LlamaRotaryEmbedding(), 0 params
  ), 16,449,892 params
  (decoder): T5Stack(
    (embed_tokens): Embedding(32128, 512), 16,449,536 params
    (relative_attention_bias): Embedding(32, 8), 256 params
  ), 16,449,792 params
  (lm_head): Linear(in_features=512, out_features=32128, bias=False), 16,449,536 params
), 65,798,756 params
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Model.Params(); got != 16_449_536+2*256+100 {
		t.Errorf("got %d", got)
	}
	if !strings.Contains(fmt.Sprint(f.Warnings), "the shared embedding is printed 2 more times") {
		t.Errorf("got %v", f.Warnings)
	}
}

// TestTorchPrintAttention has PyTorch's own attention, whose input projections
// are no module.
func TestTorchPrintAttention(t *testing.T) {
	const width = 768
	for _, count := range []string{"", fmt.Sprintf(", %d params", 4*width*width+4*width)} {
		f, err := readAs(TorchPrint)(strings.NewReader(`Net(
  (self_attention): MultiheadAttention(
    (out_proj): NonDynamicallyQuantizableLinear(in_features=768, out_features=768, bias=True)
  )`+count+`
)
`), nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.Model.Params() != 4*width*width+4*width || f.Model.Guess() != profile.Transformer {
			t.Errorf("%q: got %d parameters, %v", count, f.Model.Params(), f.Model.Guess())
		}
	}
}

// A head that may share the embedding's weights is unknown, unless its kind of model
// always does or never does.
func TestTorchPrintTies(t *testing.T) {
	for _, tt := range []struct {
		class, head string
		width       int64
		params      int64 // of both
		unknown     bool
	}{
		{"LlamaForCausalLM", "lm_head", 4096, 819_200, false},
		{"LlamaForCausalLM", "lm_head", 2048, 204_800, true},
		{"Qwen2ForCausalLM", "lm_head", 3584, 716_800, false},
		{"Qwen2ForCausalLM", "lm_head", 896, 89_600, true},
		{"T5ForConditionalGeneration", "lm_head", 8, 800, true},
		{"GPTNeoXForCausalLM", "lm_head", 8, 1600, false},
		{"BertForMaskedLM", "decoder", 8, 800, false},
		{"WhisperForConditionalGeneration", "proj_out", 8, 800, false},
		{"RNNModel", "decoder", 8, 800, true},
		{"RNNModel", "fc", 8, 1600, false},
	} {
		text := fmt.Sprintf("%s(\n  (embed): Embedding(100, %d)\n  (rope): LlamaRotaryEmbedding()\n  (%s): Linear(in_features=%d, out_features=100, bias=False)\n)", tt.class, tt.width, tt.head, tt.width)
		f, err := readAs(TorchPrint)(strings.NewReader(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if unknown := f.Model.Unknown()&profile.ParamCounts != 0; f.Model.Params() != tt.params || unknown != tt.unknown {
			t.Errorf("%s of width %d: %d parameters, unknown %t; want %d, %t", tt.class, tt.width, f.Model.Params(), unknown, tt.params, tt.unknown)
		}
	}
}

func TestTorchTreeErrors(t *testing.T) {
	head := "Layer (type:depth-idx)  Output Shape  Param #\n"
	for _, c := range []struct{ name, text, want string }{
		{"no depth", head + "Linear: x-1  [1, 2]  5\n", `line 2: "Linear: x-1" has no depth`},
		{"bad shape", head + "Linear: 1-1  [1, a]  5\n", `output shape: "a" is not`},
		{"bad count", head + "Linear: 1-1  [1, 2]  5x\n", "line 2: Linear: 1-1: parameters"},
		{"only a head", head, "no layer found"},
		{"bad total", head + "Linear: 1-1  [1, 2]  5\nTotal params: x\n", "line 3: total"},
		{"deep nesting", "Net(\n" + strings.Repeat("(a): B(\n", 1_000_000), "nest deeper than 64"},
		{"multiplied nesting", "Net(\n" + strings.Repeat("(a): 100000 x B(\n", 9) + "(x): ReLU()\n" + strings.Repeat(")\n", 9), "more than 262144 layers"},
		{"repetitions", "Net(\n  (a): 999999999999 x ReLU()\n)", "is no number of repetitions"},
		{"count without bracket", "Net(\n  (a): ReLU(), 5x params\n)", "is not a count"},
		{"huge", "Net(\n  (a): Embedding(1000000000, 1000000000)\n)", "want 0 to 1e15"},
		{"nothing inside", "Net(\n  (a): B(\n  )\n)", "no layer found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestRealTrees(t *testing.T) {
	dir := os.Getenv("COLLOC_DATA")
	if dir == "" {
		t.Skip("set COLLOC_DATA to the folder with the measured data to run this test")
	}
	for file, want := range map[string]int64{"BERT_base.model": 108_340_804, "dlrm.model": 909_313} {
		f, err := ReadFile(filepath.Join(dir, "models", file), nil)
		if err != nil || f.Model.Params() != want {
			t.Errorf("%s: got %v, want %d parameters", file, err, want)
		}
	}
}

func FuzzReadTorchInfo(f *testing.F) {
	f.Add([]byte(treeText))
	f.Add([]byte(mlp().torchinfo(32)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if file, err := readAs(TorchInfo)(strings.NewReader(string(data)), nil); err == nil {
			checkFile(t, file)
		}
	})
}

func FuzzReadTorchPrint(f *testing.F) {
	f.Add([]byte(printedGPT2(2, 8, 100, true)))
	f.Add([]byte(printedGPT2(2, 8, 100, false)))
	f.Add([]byte("Net(\n  (f): LSTM(10, 20, num_layers=2)\n  (g): GroupNorm(8, 32)\n)"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if file, err := readAs(TorchPrint)(strings.NewReader(string(data)), nil); err == nil {
			checkFile(t, file)
		}
	})
}

func ExampleRead_torchInfo() {
	f, err := Read(strings.NewReader(`
Layer (type:depth-idx)     Output Shape        Param #
======================================================
Net                        [32, 10]            --
├─Sequential: 1-1          [32, 10]            --
│    └─Linear: 2-1         [32, 128]           100,480
│    └─ReLU: 2-2           [32, 128]           --
│    └─Linear: 2-3         [32, 10]            1,290
======================================================
Total params: 101,770
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	activations, _ := f.Model.Activations()
	fmt.Println(len(f.Model.Layers), f.Model.Params(), activations, f.BatchSize)
	// Output: 3 101770 266 32
}

func ExampleRead_torchPrint() {
	f, err := Read(strings.NewReader(`LMModel(
  (embed): Embedding(1000, 64)
  (layers): ModuleList(
    (0-3): 4 x Linear(in_features=64, out_features=64, bias=True)
  )
  (lm_head): Linear(in_features=64, out_features=1000, bias=False)
)`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(f.Model.Layers), f.Model.Params())
	fmt.Println(f.Warnings[1])
	// Output:
	// 6 80640
	// lm_head has the shape of the embedding, and print(model) does not tell whether it shares its weights: its parameters are unknown
}

func BenchmarkReadTorchInfo(b *testing.B) {
	text := resnet(224, []int{3, 8, 36, 3}, true, 1000).torchinfo(32)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := readAs(TorchInfo)(strings.NewReader(text), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadTorchPrint(b *testing.B) {
	text := printedGPT2(48, 1600, 50257, true)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := readAs(TorchPrint)(strings.NewReader(text), nil); err != nil {
			b.Fatal(err)
		}
	}
}
