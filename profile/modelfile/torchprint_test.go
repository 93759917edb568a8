package modelfile

import (
	"strings"
	"testing"

	"example.com/colloc/profile/modelfile/internal/scan"
)

// TestTorchPrintTold: what a printed model tells.
func TestTorchPrintTold(t *testing.T) {
	const silent = "\n! print(model) tells no activations: they are unknown"
	check(t, readText, []sample{
		{"a log around it, and one line that is no module", `epoch 1 (of 3)
)
Net(
  (a): Linear(in_features=4, out_features=3, bias=True)

  (b) without a class
  (c): ReLU
)
)
done (c): Linear(in_features=4, out_features=3, bias=True)
`, `
torchprint "Net", Net
a: linear units 3 params 15 without activations
! line 6: not a module: "(b) without a class"
! line 7: not a module: "(c): ReLU"` + silent},
		{"a model that is cut off", `Net(
  (body): Sequential(
    (0): 1 x Linear(in_features=4, out_features=3, bias=True)
    (1): Flatten(start_dim=1, end_dim=-1)
`, `
torchprint "Net", Net
body.0: linear units 3 params 15 without activations
body.1: other in place without activations` + silent + `
! the text ends inside 2 modules: it may be cut off`},
		{"counts behind modules, of which one is less than it holds", `Net(
  (body): Sequential(
    (0): Linear(in_features=4, out_features=3, bias=True), 15 params
    (1): Odd(8), 7 params
  ), 20 params
), 22 params
Total params: 23
Total params: 99
`, `
torchprint "Net", Net, total 23
body.0: linear units 3 params 15 without activations
body.1: other params 7 without activations
! line 5: the modules inside add up to 22 parameters, the text says 20` + silent + `
! the leaves, each once, hold 22 parameters, the text says 23`},
		{"attention whose count leaves its projections over", `Net(
  (body): Sequential(
    (attn): MultiheadAttention(
      (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True), 20 params
    ), 70 params
  )
), 70 params
`, `
torchprint "Net", Net, transformer, total 70
body.attn.out_proj: linear units 4 params 20 without activations
body.attn.in_proj: attention units 12 params 50 without activations` + silent},
		{"fused modules", `Net(
  (a): ConvReLU2d(3, 8, kernel_size=(3, 3), stride=(1, 1))
  (b): KernelReLU(3, 8)
  (c): PoolReLU(kernel_size=3)
)
`, `
torchprint "Net", Net
a: conv units 8 params 224 without activations
b: activation without activations
c: activation without activations` + silent},
		{"one input, one channel and one row", `Net(
  (a): Linear(in_features=1, out_features=1, bias=False)
  (b): Embedding(1, 3)
  (c): Embedding(0, 3)
  (d): GroupNorm(1, 6, eps=1e-05, affine=True)
  (e): LayerNorm((2, 3), eps=1e-05, elementwise_affine=True, bias=False)
  (f): LayerNorm()
  (g): BatchNorm2d(6, affine=False)
  (h): Conv2d(1, 1, kernel_size=(3, 3), groups=0)
  (i): RNN(1, 1, bias=False)
  (j): Custom(3, in=4)
  (k): Embedding(), 10 params
  (lm_head): Linear(), 100 params
)
`, `
torchprint "Net", Net
a: linear units 1 params 1 without activations
b: embedding units 3 params 3 macs 0 without activations
c: embedding units 3 macs 0 without activations and params
d: norm params 12 without activations
e: norm params 6 without activations
f: norm without activations and params
g: norm without activations
h: conv units 1 params 10 without activations
i: recurrent units 1 params 2 without activations
j: other without activations and params
k: embedding params 10 macs 0 without activations
lm_head: linear params 100 without activations` + silent + `
! 3 modules tell no parameters: theirs are unknown`},
		{"arguments without blanks, without names, and of the largest size", `Net(
  (a): Linear(in_features=4,out_features=3,bias=True)
  (b): Bilinear(3, 4, 5, bias=False)
  (c): Conv1d(1, 1, kernel_size=(1099511627776,), bias=False)
  (d): PReLU(8)
)
`, `
torchprint "Net", Net
a: linear units 3 params 15 without activations
b: linear units 5 params 60 without activations
c: conv units 1 params 1099511627776 without activations
d: activation params 8 without activations` + silent},
		{"tables of the shape of a shared one", `Net(
  (shared): Embedding(10, 4)
  (positions): Embedding(10, 4)
  (embed_tokens): Embedding(10, 4)
  (decoder): Part(
    (embed_tokens): Embedding(20, 4)
  )
)
`, `
torchprint "Net", Net
shared: embedding units 4 params 40 macs 0 without activations
positions: embedding units 4 params 40 macs 0 without activations
embed_tokens: embedding units 4 macs 0 without activations
decoder.embed_tokens: embedding units 4 params 80 macs 0 without activations` + silent + `
! the shared embedding is printed 1 more times; its weights are counted once`},
		{"kernels that are not told, and a narrow output", `Net(
  (a): Conv2d(3, 8)
  (b): Conv2d(3, 8, kernel_size=(3, same), bias=False)
  (c): Conv2d(3, 8, kernel_size=(3, 1099511627777))
  (d): LSTM(2, 4, proj_size=1)
)
`, `
torchprint "Net", Net
a: conv units 8 without activations and params
b: conv units 8 without activations and params
c: conv units 8 without activations and params
d: recurrent units 4 params 84 without activations` + silent + `
! 3 modules tell no parameters: theirs are unknown`},
		{"widths that are not told", `Net(
  (a): LayerNorm(width, eps=1e-05, elementwise_affine=True)
  (b): BatchNorm2d(num_features=64, eps=1e-05)
  (c): GroupNorm(8, eps=1e-05, affine=True)
  (d): T5LayerNorm()
  (e): LazyBatchNorm1d(0, eps=1e-05, affine=True)
  (f): Embedding(30522, width)
  (g): LazyLinear(in_features=0, out_features=3, bias=True)
  (h): Linear(out_features=3, bias=True)
  (i): Conv2d(channels, 8, kernel_size=(3, 3))
  (j): Conv2d(4, 8, kernel_size=(3, 3), groups=all)
  (k): GRU(input_size=width, hidden_size=4)
  (l): Bilinear(in1_features=3, out_features=5, bias=True)
  (m): Conv1D(nf=6)
  (n): PReLU(num_parameters=width)
  (o): MultiheadAttention(
    (out_proj): NonDynamicallyQuantizableLinear(out_features=4, bias=True)
  )
  (p): GRU(8, 4, num_layers=deep)
)
`, `
torchprint "Net", Net, transformer
a: norm without activations and params
b: norm without activations and params
c: norm without activations and params
d: norm without activations and params
e: norm without activations and params
f: embedding macs 0 without activations and params
g: linear units 3 without activations and params
h: linear units 3 without activations and params
i: conv units 8 without activations and params
j: conv units 8 without activations and params
k: recurrent units 4 without activations and params
l: linear units 5 without activations and params
m: linear units 6 without activations and params
n: activation without activations and params
o.out_proj: linear units 4 without activations and params
o.in_proj: attention units 12 without activations and params
p: recurrent units 4 without activations and params` + silent + `
! 16 modules tell no parameters: theirs are unknown`},
		{"norms without parameters, and one whose width is a torch.Size", `Net(
  (a): FrozenBatchNorm2d(64, eps=1e-05)
  (b): LocalResponseNorm(5, alpha=0.0001, beta=0.75, k=1.0)
  (c): InstanceNorm2d()
  (d): LayerNorm((width,), elementwise_affine=False)
  (e): LayerNorm(torch.Size([2, 3]), eps=1e-05, elementwise_affine=True)
)
`, `
torchprint "Net", Net
a: norm without activations
b: norm without activations
c: norm without activations
d: norm without activations
e: norm params 12 without activations` + silent},
		{"sizes beyond any are not taken", `Net(
  (a): Linear(in_features=1099511627776, out_features=2, bias=False)
  (b): Linear(in_features=1099511627777, out_features=2, bias=False)
  (c): Linear(in_features=-4, out_features=2, bias=False)
)
`, `
torchprint "Net", Net
a: linear units 2 params 2199023255552 without activations
b: linear units 2 without activations and params
c: linear units 2 without activations and params` + silent + `
! 2 modules tell no parameters: theirs are unknown`},
		{"a count that is none", "Net(\n  (a): Linear(in_features=4, out_features=3, bias=True), 5x params\n)\n", `modelfile: torchprint: line 2: "5x" is not a count from 0 to 1e15`},
		{"a count of a container that is none", "Net(\n  (a): Linear(in_features=4, out_features=3, bias=True)\n), 5x params\n", `modelfile: torchprint: line 3: "5x" is not a count from 0 to 1e15`},
		{"a total that is none", "Net(\n  (a): ReLU()\n)\nTotal params: many\n", `modelfile: torchprint: line 4: "many" is not a count from 0 to 1e15`},
		{"a count without a bracket", "Net(\n  (a): ReLU(5 params\n)\n", `modelfile: torchprint: line 2: no bracket before the count in "5 params"`},
		{"no repetition", "Net(\n  (a): 0 x ReLU()\n)\n", `modelfile: torchprint: line 2: "0" is no number of repetitions`},
		{"nothing inside", "Net(\n  (a): B(\n  )\n)\n", `modelfile: torchprint: no layer found; want what print(model) prints`},
	})
	nested := func(n int) string {
		return "Net(\n" + strings.Repeat("(a): B(\n", n) + "(x): Linear(in_features=1, out_features=1, bias=False)\n" + strings.Repeat(")\n", n+1)
	}
	for n, deep := range map[int]bool{scan.MaxDepth - 1: false, scan.MaxDepth: true} {
		if _, err := readText(nested(n)); (err != nil) != deep {
			t.Errorf("%d modules inside one: %v", n, err)
		}
	}
}
