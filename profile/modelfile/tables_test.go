package modelfile

import (
	"strings"
	"testing"
)

// infoText is a torchinfo table with rows and what stands below it.
func infoText(rows string, below ...string) string {
	return infoTable(infoHead, rows, strings.Join(below, "\n")+"\n")
}

// TestTorchInfoTold: what a table of torchinfo tells, as far as the rows, and what stands
// below them, tell it.
func TestTorchInfoTold(t *testing.T) {
	const cut = "! 1 rows are cut off at the depth limit: what they hold follows from the stated totals; print with depth=99"
	const open = "! 1 rows are cut off at the depth limit and no total tells what they hold: their activations are unknown; print with depth=99"
	check(t, readText, []sample{
		{"rows that are cut off share the sizes and the work that are stated for the batch of two", infoText(`Net                                   [2, 12]                   --
├─Block: 1-1                          [2, 4, 9, 9]              44
├─Mixer: 1-2                          [2, 12]                   30
`, "Total params: 74", "Total mult-adds: 1344", "Forward/backward pass size: 16128", "Params size: 296"), `
torchinfo "", Net, total 74, batch 2
Block: 1-1: conv params 44 out 486 macs 648 without neurons
Block: 1-1.inside: norm out 486
Mixer: 1-2: linear params 30 out 36 macs 24 without neurons
! 2 rows are cut off at the depth limit: what they hold follows from the stated totals; print with depth=99`},
		{"in half precision an output takes two bytes", infoText(`Net                                   [2, 12]                   --
├─Mixer: 1-1                          [2, 12]                   30
`, "Total params: 30", "Forward/backward pass size: 288", "Params size: 60"), `
torchinfo "", Net, total 30, batch 2
Mixer: 1-1: linear params 30 out 36 without neurons
` + cut},
		{"a list of modules has no shape: what its members put out goes to the other rows", infoText(`Net                                   [2, 12]                   --
├─Mixer: 1-1                          [2, 12]                   30
├─ModuleList: 1-2                     --                        44
`, "Total params: 74", "Total mult-adds: 60", "Forward/backward pass size: 576", "Params size: 296"), `
torchinfo "", Net, total 74, batch 2
Mixer: 1-1: linear params 30 out 36 macs 30 without neurons
ModuleList: 1-2: linear params 44 macs 0 without neurons
! 2 rows are cut off at the depth limit: what they hold follows from the stated totals; print with depth=99`},
		{"a size that rounds to 0 MB tells nothing", infoText(`Net                                   [2, 12]                   --
├─Mixer: 1-1                          [2, 12]                   30
`, "Total params: 30", "Forward/backward pass size (MB): 0.00", "Params size (MB): 0.00"), `
torchinfo "", Net, total 30, batch 2
Mixer: 1-1: other params 30 without activations and neurons
` + open},
		{"rows that do more work than is stated leave none for one that is cut off", infoText(`Net                                   [2, 12]                   --
├─Linear: 1-1                         [2, 10]                   110
├─Mixer: 1-2                          [2, 12]                   30
`, "Total params: 140", "Total mult-adds: 100", "Forward/backward pass size: 736", "Params size: 560"), `
torchinfo "", Net, total 140, batch 2
Linear: 1-1: linear units 10 params 110 out 10 macs 110
Mixer: 1-2: linear params 30 out 36 without neurons
` + cut},
		{"nor for one that puts out all that is left", infoText(`Net                                   [2, 12]                   --
├─Linear: 1-1                         [2, 10]                   110
├─Mixer: 1-2                          [2, 12]                   30
`, "Total params: 140", "Total mult-adds: 100", "Forward/backward pass size: 352", "Params size: 560"), `
torchinfo "", Net, total 140, batch 2
Linear: 1-1: linear units 10 params 110 out 10 macs 110
Mixer: 1-2: other params 30 out 12 macs 30`},
		{"an encoder that is cut off holds scores, dropout and non-linearities beside its layers", infoText(`BertEncoder                           [2, 12]                   --
├─Pooler: 1-1                         [2, 12]                   30
`, "Total params: 30", "Forward/backward pass size: 576"), `
torchinfo "", BertEncoder, transformer, total 30, batch 2
Pooler: 1-1: linear params 30 out 36 without neurons
Pooler: 1-1.inside: activation out 36
Pooler: 1-1.inside: activation out 36
` + cut},
		{"rows that do all the work that is stated leave none, and a non-linearity does none", infoText(`Net                                   [2, 12]                   --
├─Linear: 1-1                         [2, 10]                   110
├─ReLU: 1-2                           [2, 10]                   --
├─Mixer: 1-3                          [2, 12]                   30
`, "Total params: 140", "Total mult-adds: 220", "Forward/backward pass size: 736", "Params size: 560"), `
torchinfo "", Net, total 140, batch 2
Linear: 1-1: linear units 10 params 110 out 10 macs 110
ReLU: 1-2: activation out 10
Mixer: 1-3: linear params 30 out 36 without neurons
` + cut},
		{"what is left of the work beside a non-linearity", infoText(`Net                                   [2, 12]                   --
├─Linear: 1-1                         [2, 10]                   110
├─ReLU: 1-2                           [2, 10]                   --
├─Mixer: 1-3                          [2, 12]                   30
`, "Total params: 140", "Total mult-adds: 280", "Forward/backward pass size: 736", "Params size: 560"), `
torchinfo "", Net, total 140, batch 2
Linear: 1-1: linear units 10 params 110 out 10 macs 110
ReLU: 1-2: activation out 10
Mixer: 1-3: linear params 30 out 36 macs 30 without neurons
` + cut},
		{"work is stated, but neither sizes nor shapes of what would do it", infoText(`Net                                   [2, 12]                   --
├─Linear: 1-1                         [2, 10]                   110
├─ModuleList: 1-2                     --                        30
`, "Total params: 140", "Total mult-adds: 1000", "Forward/backward pass size: 160", "Params size: 560"), `
torchinfo "", Net, total 140, batch 2
Linear: 1-1: linear units 10 params 110 out 10 macs 110
ModuleList: 1-2: other params 30 without activations
! rows have no output shape, or an open one: activations are unknown; give summary() an input_size, a Keras model its input shape`},
		{"positions of one's own, and a dense layer of one unit, work at each position", infoText(`Net                                   [2, 12]                   --
├─Gate: 1-1                           [2, 8, 16]                100
├─Linear: 1-2                         [2, 8, 1]                 17
├─Mystery: 1-3                        [2, 8, 1]                 --
├─Embedding: 1-4                      [2, 8, 4]                 400
`, "Total params: 517", "Forward/backward pass size: 2688"), `
torchinfo "", Net, total 517, batch 2
Gate: 1-1: other params 100 out 128 macs 800
Linear: 1-2: linear units 1 params 17 out 8 macs 136
Embedding: 1-4: embedding units 4 params 400 out 32 macs 0`},
		{"modules with names run again under these", infoTable("Layer (type (var_name):depth-idx)     Output Shape              Param #", `Net (Net)                             [2, 6]                    --
├─Linear (a): 1-1                     [2, 5, 6]                 36
├─Linear (b): 1-2                     [2, 5, 6]                 42
├─LayerNorm (n): 1-3                  [2, 5, 6]                 12
├─LayerNorm (n): 1-4                  [2, 5, 6]                 --
├─Linear (a): 1-5                     [2, 7, 6]                 (recursive)
├─LayerNorm (n): 1-6                  [2, 5, 6]                 (recursive)
`, "Total params: 90\n"), `
torchinfo "", Net, total 90, batch 2
Linear (a): 1-1: linear units 6 params 36 out 30 macs 180
Linear (b): 1-2: linear units 6 params 42 out 30 macs 210
LayerNorm (n): 1-3: norm params 12 out 30 macs 12
LayerNorm (n): 1-4: norm out 30 macs 0
Linear (a): 1-5: linear units 6 out 42 macs 252
LayerNorm (n): 1-6: norm out 30 macs 12
! 2 rows run a module again; its parameters are counted once`},
		{"the batch is that of most leaves, not of containers", infoText(`Net                                   [1, 6]                    --
├─Part: 1-1                           [1, 6]                    --
│    └─Linear: 2-1                    [8, 6]                    42
├─Part: 1-2                           [1, 6]                    --
│    └─Linear: 2-2                    [8, 6]                    42
│    └─Linear: 2-3                    [4, 6]                    42
`, "Total params: 126"), `
torchinfo "", Net, total 126, batch 8
Linear: 2-1: linear units 6 params 42 out 6 macs 42
Linear: 2-2: linear units 6 params 42 out 6 macs 42
Linear: 2-3: linear units 6 params 42 out 3 macs 21`},
		{"of two batches that are as frequent the first counts", infoText(`Net                                   [3, 6]                    --
├─Linear: 1-1                         [3, 6]                    42
├─Linear: 1-2                         [6, 6]                    42
`, "Total params: 84"), `
torchinfo "", Net, total 84, batch 3
Linear: 1-1: linear units 6 params 42 out 6 macs 42
Linear: 1-2: linear units 6 params 42 out 12 macs 84`},
		{"vectors have no batch", infoText(`Net                                   [10]                      --
├─Linear: 1-1                         [10]                      110
`, "Total params: 110"), `
torchinfo "", Net, total 110
Linear: 1-1: linear units 10 params 110 out 10 macs 110`},
		{"a class inside tells the family", infoText(`Net                                   [2, 6]                    --
├─Linear: 1-1                         [2, 6]                    42
├─SelfAttention: 1-2                  [2, 6]                    --
│    └─Linear: 2-1                    [2, 6]                    42
`, "Total params: 84"), `
torchinfo "", Net, transformer, total 84, batch 2
Linear: 1-1: linear units 6 params 42 out 6 macs 42
Linear: 2-1: linear units 6 params 42 out 6 macs 42`},
		{"one more frozen parameter than the rows show", infoText(`Net                                   [2, 10]                   --
├─Linear: 1-1                         [2, 10]                   100
`, "Total params: 100", "Trainable params: 99", "Non-trainable params: 1"), `
torchinfo "", Net, total 100, batch 2
Linear: 1-1: linear units 10 params 100 frozen 1 out 10 macs 100
! 1 more parameters are frozen than the rows show; they are taken from all rows in proportion`},
		{"all is frozen", infoText(`Net                                   [2, 10]                   --
├─Linear: 1-1                         [2, 10]                   100
`, "Total params: 100", "Trainable params: 0", "Non-trainable params: 100"), `
torchinfo "", Net, total 100, batch 2
Linear: 1-1: linear units 10 params 100 frozen 100 out 10 macs 100
! 100 more parameters are frozen than the rows show; they are taken from all rows in proportion`},
		{"an indented table whose rows have no depth", infoTable("        Layer (type)                  Output Shape              Param #", `        Net                           [5, 2]                    7
        + Linear                      [5, 1]                    3
        + Block                       [5, 1]                    --
        |    + Linear                 [5, 1]                    2
`, "        Total params: 12\n"), `
torchinfo "", Net, total 12, batch 5
Net: other params 7 macs 0
Linear: linear units 1 params 3 out 1 macs 3
Linear: linear units 1 params 2 out 1 macs 2`},
		{"the most work that can be stated", infoText(`Net                                   [1, 12]                   --
├─Mixer: 1-1                          [1, 2, 3, 4]              30
`, "Total params: 30", "Total mult-adds (T): 1,000.00", "Forward/backward pass size: 1000"), `
torchinfo "", Net, total 30, batch 1
Mixer: 1-1: conv params 30 out 63 macs 1000000000000000 without neurons
Mixer: 1-1.inside: norm out 62
` + cut},
		{"a table without a row that computes", infoText(`Net                                   [2, 10]                   --
`, "Total params: 0"), `modelfile: torchinfo: no layer found: the table has no row that computes or holds parameters`},
		{"modules that run again at another size do so with their own weights", infoText(`Net                                   [2, 10]                   --
├─Conv2d: 1-1                         [2, 4, 9, 9]              40
├─Conv2d: 1-2                         [2, 8, 9, 9]              296
├─Linear: 1-3                         [2, 5, 6]                 42
├─Linear: 1-4                         [2, 5, 8]                 56
├─Conv2d: 1-5                         [2, 4, 5, 5]              (recursive)
├─Linear: 1-6                         [2, 7, 6]                 (recursive)
`, "Total params: 434"), `
torchinfo "", Net, total 434, batch 2
Conv2d: 1-1: conv units 4 params 40 out 324 macs 3240
Conv2d: 1-2: conv units 8 params 296 out 648 macs 23976
Linear: 1-3: linear units 6 params 42 out 30 macs 210
Linear: 1-4: linear units 8 params 56 out 40 macs 280
Conv2d: 1-5: conv units 4 out 100 macs 1000
Linear: 1-6: linear units 6 out 42 macs 294
! 2 rows run a module again; its parameters are counted once`},
		{"stated work is that of the batch", infoTable(infoHead+"    Mult-Adds", `Net                                   [4, 10]                   --              --
├─Linear: 1-1                         [4, 10]                   110             440
├─ReLU: 1-2                           [4, 10]                   --              --
`, "Total params: 110\n"), `
torchinfo "", Net, total 110, batch 4
Linear: 1-1: linear units 10 params 110 out 10 macs 110
ReLU: 1-2: activation out 10`},
		{"a table without shapes", infoTable("Layer (type:depth-idx)                Param #", `Net                                   --
├─Linear: 1-1                         110
├─ReLU: 1-2                           --
├─Flatten: 1-3                        --
`, "Total params: 110\n"), `
torchinfo "", Net, total 110
Linear: 1-1: linear params 110 without activations
ReLU: 1-2: activation without activations
Flatten: 1-3: other in place
! rows have no output shape, or an open one: activations are unknown; give summary() an input_size, a Keras model its input shape`},
		{"a total a little above the rows", infoText(`Net                                   [2, 10]                   --
├─Linear: 1-1                         [2, 10]                   990
`, "Total params: 1000"), `
torchinfo "", Net, total 1000, batch 2
Linear: 1-1: linear units 10 params 990 out 10 macs 990
! the leaves add up to 990 parameters, the file says 1000`},
		{"a total far above the rows", infoText(`Net                                   [2, 10]                   --
├─Linear: 1-1                         [2, 10]                   989
`, "Total params: 1000"), `
torchinfo "", Net, total 1000, batch 2
Linear: 1-1: linear units 10 params 989 out 10 macs 989
what the table leaves out: other params 11 without activations and neurons
! the leaves add up to 989 parameters, the file says 1000`},
		{"a total a little below the rows", infoText(`Net                                   [2, 10]                   --
├─Linear: 1-1                         [2, 10]                   1010
`, "Total params: 1000"), `
torchinfo "", Net, total 1000, batch 2
Linear: 1-1: linear units 10 params 1010 out 10 macs 1010
! the leaves add up to 1010 parameters, the file says 1000`},
		{"a total far below the rows", infoText(`Net                                   [2, 10]                   --
├─Linear: 1-1                         [2, 10]                   1011
`, "Total params: 1000"), `
torchinfo "", Net, total 1000, batch 2
Linear: 1-1: linear units 10 params 1011 out 10 macs 1011
what the table counts twice: other without params
! the leaves add up to 1011 parameters, the file says 1000`},
		{"a table that is cut off in the middle", infoRule + infoHead + "\n" + infoRule + `Net                                   [2, 10]                   --
├─Linear: 1-1                         [2, 10]                   110
├─Lin`, `
torchinfo "", Net, batch 2
Linear: 1-1: linear units 10 params 110 out 10 macs 110
! line 6: not a row of the tree: "Lin"
! the tree has no total: it may be cut off`},
		{"frozen rows, and more that is frozen than they show", infoText(`Net                                   [2, 10]                   --
├─Linear: 1-1                         [2, 10]                   (100)
├─Linear: 1-2                         [2, 10]                   300
├─Linear: 1-3                         [2, 10]                   100
`, "Total params: 500", "Trainable params: 200", "Non-trainable params: 300"), `
torchinfo "", Net, total 500, batch 2
Linear: 1-1: linear units 10 params 100 frozen 100 out 10 macs 100
Linear: 1-2: linear units 10 params 300 frozen 151 out 10 macs 300
Linear: 1-3: linear units 10 params 100 frozen 49 out 10 macs 100
! 200 more parameters are frozen than the rows show; they are taken from all rows in proportion
! 1 rows hold frozen parameters: they have no gradient and no optimiser state`},
		{"a total that is no number", infoText(`Net                                   [2, 10]                   --
`, "Total params: -3"), `modelfile: torchinfo: line 6: total: "-3" is not a count from 0 to 1e15`},
		{"a total beyond any", infoText(`Net                                   [2, 10]                   --
`, "Total mult-adds (T): 1,000.01"), `modelfile: torchinfo: line 6: total: "1,000.01" is not a count from 0 to 1e15`},
		{"more outputs than any layer has", infoText(`Net                                   [1, 10]                   --
├─ReLU: 1-1                           [1, 1000000000, 1000000]  --
├─ReLU: 1-2                           [1, 1000000000, 1000001]  --
`, "Total params: 0"), `modelfile: torchinfo: layer "ReLU: 1-2": activations is 1000001000000000, want 0 to 1e15`},
		{"a depth beyond any", infoText(`Net: 9999999                          [2, 10]                   --
`, "Total params: 3"), `modelfile: torchinfo: line 4: "Net: 9999999" has no depth`},
	})
}

// TestTorchInfoUnits: totals are read in the units that torchinfo prints.
func TestTorchInfoUnits(t *testing.T) {
	for unit, want := range map[string]int64{"": 3, " (k)": 3e3, " (kB)": 3e3, " (M)": 3e6, " (MB)": 3e6, " (G)": 3e9, " (GB)": 3e9, " (T)": 3e12, " (TB)": 3e12} {
		f, err := readText(infoText(`Net                                   [1, 12]                   --
├─Mixer: 1-1                          [1, 2, 3, 4]              30
`, "Total params: 30", "Total mult-adds"+unit+": 3.00", "Forward/backward pass size: 1000"))
		if err != nil {
			t.Fatal(err)
		}
		if macs, known := f.Model.MACs(); macs != want || !known {
			t.Errorf("%q: %d multiply-adds (%t), want %d", unit, macs, known, want)
		}
	}
}

// TestKerasSummaryTold: what a table of model.summary() tells.
func TestKerasSummaryTold(t *testing.T) {
	const head = "Model: \"m\"\n Layer (type)                Output Shape              Param #   \n=================================================================\n"
	check(t, readText, []sample{
		{"half of a batch norm is statistics", head + ` bn (BatchNormalization)     (None, 8, 8, 4)           16
 flatten (Flatten)           (None, 256)               0
 dense (Dense)               (None, 10)                2570
Total params: 2,586
Trainable params: 2,578
Non-trainable params: 8
`, `
keras summary "m", total 2586
bn: norm params 16 frozen 8 out 256 macs 256
flatten: other out 256 in place
dense: linear units 10 params 2570 out 10 macs 2570`},
		{"a stated batch, and a number that stands one column to the left", head + ` input (InputLayer)          [(32, 9)]                 0
 dense (Dense)               (32, 10)                 100
 add (Add)                   (32, 10)                  0
 dense_1 (Dense)             multiple                  110
Total params: 210
Non-trainable params: 0
`, `
keras summary "m", total 210, batch 32
dense: linear units 10 params 100 out 10 macs 100
dense_1: linear params 110 without activations
! rows have no output shape, or an open one: activations are unknown; give summary() an input_size, a Keras model its input shape`},
		{"a class of one's own, and what is frozen beside it", head + ` block (TransformerEncoder)  (None, 8, 16)             100
 dense (Dense)               (None, 8, 1)              20
Total params: 120
Trainable params: 60
Non-trainable params: 60
`, `
keras summary "m", transformer, total 120
block: other params 100 frozen 51 out 128
dense: linear units 1 params 20 frozen 9 out 8 macs 160
! 60 more parameters are frozen than the rows show; they are taken from all rows in proportion`},
		{"a model inside whose rows are not shown", head + ` inner (Functional)          (None, 4)                 56
 dense (Dense)               (None, 1)                 5
Total params: 61
Non-trainable params: 0
`, `
keras summary "m", total 61
inner: other params 56 without activations and neurons
dense: linear units 1 params 5 out 1 macs 5
! layer "inner" holds others that the table does not show: its activations are unknown; summary(expand_nested=True)
! rows have no output shape, or an open one: activations are unknown; give summary() an input_size, a Keras model its input shape`},
		{"a model inside whose rows stand between strokes", head + ` inner (Functional)          (None, 4)                 56
|¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯|
| deep (Sequential)         (None, 4)                 56        |
||¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯¯||
|| batch_normalization (Bat (None, 4)                 16       ||
|| chNormalization)                                            ||
|| dense (Dense)           multiple                  40        ||
Total params: 56
Non-trainable params: 8
`, `
keras summary "m", total 56
inner: other
deep: other
batch_normalization: norm params 16 frozen 8 out 4 macs 4
dense: linear params 40 without activations
! rows have no output shape, or an open one: activations are unknown; give summary() an input_size, a Keras model its input shape`},
		{
			"a total that is no number", head + " dense (Dense)               (None, 1)                 5\nTotal params: 5x\n",
			`modelfile: keras summary: line 5: total: "5x" is not a count from 0 to 1e15`,
		},
		{"a count that is no number", head + " dense (Dense)               (None, 1)                 5x\n", `modelfile: keras summary: dense: parameters: "5x" is not a count from 0 to 1e15`},
		{"a count in the middle that is none", head + " dense (Dense)               (None, 1)                 5x\n relu (ReLU)                 (None, 1)                 0\n", `modelfile: keras summary: line 5: the row before: dense: parameters: "5x" is not a count from 0 to 1e15`},
		{"of two tables the first", head + " dense (Dense)               (None, 1)                 5\nTotal params: 5\nTrainable params: 5\nNon-trainable params: 0\nTotal params: 7\n", `
keras summary "m", total 5
dense: linear units 1 params 5 out 1 macs 5`},
		{"a table that ends before its last total", head + " dense (Dense)               (None, 1)                 5\nTotal params: 7\nTrainable params: 5\n", `
keras summary "m", total 7
dense: linear units 1 params 5 out 1 macs 5
what the table leaves out: other params 2 without activations and neurons
! the leaves add up to 5 parameters, the file says 7`},
		{"a model without parameters, and its optimiser", head + " relu (ReLU)                 (None, 1)                 0\nTotal params: 2\nTrainable params: 0\nNon-trainable params: 0\n", `
keras summary "m", total 0
relu: activation out 1
! the stated total of 2 holds 2 of the optimiser, which are not the model's`},
		{"outputs in a list, which goes on", `Model: "m"
__________________________________________________________________________________________________
 Layer (type)                   Output Shape         Param #     Connected to
==================================================================================================
 input_1 (InputLayer)           [(None, None, 71)]   0           []

 lstm (LSTM)                    [(None, 256),        335872      ['input_1[0][0]']
                                 (None, 256),
                                 (None, 256)]

 lstm_1 (LSTM)                  [(None, 9, 256),     358400      ['input_2[0][0]',
                                 (None, 256),                     'lstm[0][1]',
                                 (None, 256)]                     'lstm[0][2]']

 dense (Dense)                  (None, None, 93)     23901       ['lstm_1[0][0]']
==================================================================================================
Total params: 718,173
Trainable params: 718,173
Non-trainable params: 0
`, `
keras summary "m", total 718173
lstm: recurrent units 256 params 335872 out 256
lstm_1: recurrent units 256 params 358400 out 2304
dense: linear params 23901 without activations
! rows have no output shape, or an open one: activations are unknown; give summary() an input_size, a Keras model its input shape`},
		{"outputs in a list that old versions cut off at the column", `Layer (type)                    Output Shape         Param #     Connected to
==================================================================================================
lstm_1 (LSTM)                   [(None, 256), (None, 335872      input_1[0][0]
__________________________________________________________________________________________________
lstm_2 (LSTM)                   [(None, 16, 256), (N 358400      input_2[0][0]
                                                                 lstm_1[0][1]
__________________________________________________________________________________________________
a_dense_layer_with_a_long_name (Dense)  (None, 16, 93)       23901       lstm_2[0][0]
==================================================================================================
Total params: 718,173
Non-trainable params: 0
`, `
keras summary "", total 718173
lstm_1: recurrent units 256 params 335872 out 256
lstm_2: recurrent units 256 params 358400 out 4096
a_dense_layer_with_a_long_name: linear units 93 params 23901 out 1488 macs 382416`},
		{"layers that are not built", `Model: "m"
┏━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)         ┃ Output Shape   ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ dense (Dense)        │ ?              │   0 (unbuilt) │
├──────────────────────┼────────────────┼───────────────┤
│ own (Own)            │ ?              │             ? │
│ a note that is       │ not a row      │
└──────────────────────┴────────────────┴───────────────┘
`, `
keras summary "m"
dense: linear without activations and params
own: other without activations and params
! line 8: not a row of the table: "│ a note that is       │ not a row      │"
! rows have no output shape, or an open one: activations are unknown; give summary() an input_size, a Keras model its input shape
! the tree has no total: it may be cut off`},
	})
}

// TestTorchSummaryTold: what a table of torchsummary tells.
func TestTorchSummaryTold(t *testing.T) {
	check(t, readText, []sample{
		{"nothing to warn of", summaryHead + `====
  Linear-1      [-1, 5]        30
  A-2           [-1, 5]        5
----
Total params: 35
Total params: 99
`, `
torchsummary "", total 35
Linear-1: linear units 5 params 30 out 5 macs 30
A-2: other params 5 out 5`},
		{"a line of a log before the first row, whose class has one letter", summaryHead + `loading weights
  A-2           [1, 5]         5
`, `
torchsummary "", batch 1
A-2: other params 5 out 5
! line 2: not a row of the table: "loading weights"
! the table has no total: it may be cut off`},
		{"attention that torchsummary does not count, and a table cut off", summaryHead + `
  MultiheadAttention-1      [[32, 7, 16], [32, 7, 7]]     0
  GRU-2                     [[32, 7, 16], [2, 32, 16]]    100
  Block-3                   [32, 16]    0
  broken
`, `
torchsummary "", batch 32
MultiheadAttention-1: attention out 161 without params
GRU-2: recurrent units 16 params 100 out 624
! line 6: not a row of the table: "broken"
! 1 rows of unknown classes without parameters were taken for containers and left out
! 1 recurrent or attention layers stand without parameters: torchsummary does not count theirs
! the table has no total: it may be cut off`},
		{"the largest dimension", summaryHead + "  ReLU-1   [-1, 1099511627776]   0\nTotal params: 0\n", `
torchsummary "", total 0
ReLU-1: activation out 1099511627776`},
		{"a dimension beyond", summaryHead + "  ReLU-1   [-1, 1099511627777]   0\n", `modelfile: torchsummary: line 2: ReLU-1: output shape: [-1, 1099511627777] is no shape`},
		{"a batch of one", summaryHead + "  Linear-1      [1, 5]        30\nTotal params: 31\n", `
torchsummary "", total 31, batch 1
Linear-1: linear units 5 params 30 out 5 macs 30
! the rows add up to 30 parameters, the table says 31`},
	})
}
