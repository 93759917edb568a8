package modelfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
)

func TestTorchSummary(t *testing.T) {
	for _, c := range []struct {
		file                string
		params, activations int64
		depth, layers       int
		batch               profile.Opt[int]
	}{
		// Activations: the sums of the published output shapes.
		{"resnet50.txt", 25_557_032, 32_040_424, 107, 158, profile.Opt[int]{}},
		{"vgg19_32.txt", 143_667_240, 31_285_224, 19, 45, profile.Some(32)},
		{"mobilenet_v2.txt", 3_504_872, 19_464_296, 105, 141, profile.Opt[int]{}},
	} {
		t.Run(c.file, func(t *testing.T) {
			f, err := ReadFile(filepath.Join("testdata", c.file), nil)
			if err != nil {
				t.Fatal(err)
			}
			m := f.Model
			if m.Params() != c.params || f.TotalParams.Or(0) != c.params || activationsOf(m) != c.activations {
				t.Errorf("got %d parameters (file says %v), %d activations, want %d, %d",
					m.Params(), f.TotalParams, activationsOf(m), c.params, c.activations)
			}
			if m.Depth() != c.depth || len(m.Layers) != c.layers || f.BatchSize != c.batch {
				t.Errorf("got depth %d, %d layers, batch %v, want %d, %d, %v", m.Depth(), len(m.Layers), f.BatchSize, c.depth, c.layers, c.batch)
			}
			if m.Guess() != profile.CNN || m.Name != strings.TrimSuffix(c.file, ".txt") {
				t.Errorf("got family %v, name %q", m.Guess(), m.Name)
			}
		})
	}
}

// TestTorchSummaryMACs compares with the published 4.09 GMACs of ResNet-50 and
// 300 MMACs of MobileNetV2 (here with norms, which publications leave out).
func TestTorchSummaryMACs(t *testing.T) {
	for file, want := range map[string]int64{
		"resnet50.txt":     4_087_136_256 + 2_049_000 + 11_113_984, // convolutions, dense, norms
		"mobilenet_v2.txt": 299_493_376 + 1_281_000 + 6_679_008,
	} {
		f, err := ReadFile(filepath.Join("testdata", file), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := f.Model.MACs(); got != want || !ok {
			t.Errorf("%s: got %d, %t, want %d", file, got, ok, want)
		}
	}
}

func TestTorchSummaryBatchFormsAgree(t *testing.T) {
	n := resnet(224, []int{2, 2, 2, 2}, false, 1000)
	var files []*File
	for _, batch := range []int{-1, 1, 32, 4096} {
		f, err := readAs(TorchSummary)(strings.NewReader(n.torchsummary(batch, 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := f.BatchSize.Get(); got != max(batch, 0) {
			t.Errorf("batch %d: got %d", batch, got)
		}
		files = append(files, f)
	}
	for _, f := range files[1:] {
		if diff := cmp.Diff(files[0].Model, f.Model, cmp.AllowUnexported(profile.Opt[int64]{})); diff != "" {
			t.Error(diff)
		}
	}
	if got := files[0].Model.Params(); got != 11_689_512 { // ResNet-18
		t.Errorf("got %d parameters", got)
	}
}

const summaryHead = "        Layer (type)               Output Shape         Param #\n"

func TestTorchSummaryRows(t *testing.T) {
	f, err := readAs(TorchSummary)(strings.NewReader("some log line\r\n"+summaryHead+`====
            LSTM-1      [[-1, 7, 32], [[-1, 2, 32], [-1, 2, 32]]]     0
            Odd-2       [-1, 5]              12
            Block-3     [-1, 5]              0
            Flatten-4   [-1, 6]              0
            Softmax-5   [-1]                 0
   words without meaning
====
Total params: 11
`), &Options{Name: "odd"})
	if err != nil {
		t.Fatal(err)
	}
	want := []profile.Layer{
		{Name: "LSTM-1", Kind: profile.Recurrent, Neurons: 32, Activations: 7*32 + 4*32, Unknown: profile.ParamCounts},
		{Name: "Odd-2", Params: 12, Activations: 5},
		{Name: "Flatten-4", Activations: 6, InPlace: true},
		{Name: "Softmax-5", Kind: profile.Activation, Activations: 1},
	}
	if diff := cmp.Diff(want, f.Model.Layers, cmp.AllowUnexported(profile.Opt[int64]{})); diff != "" {
		t.Error(diff)
	}
	var text strings.Builder
	for _, w := range f.Warnings {
		fmt.Fprintln(&text, w)
	}
	for _, part := range []string{
		`line 9: not a row of the table: "words without meaning"`, "1 rows of unknown classes",
		"1 recurrent or attention layers", "add up to 12 parameters, the table says 11",
	} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("no warning with %q in:\n%s", part, text.String())
		}
	}
}

func TestTorchSummaryErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "no layer found"},
		{"no table", "hello\nworld\n", "no layer found"},
		{"only a head", summaryHead, "no layer found"},
		{"bad dimension", summaryHead + "ReLU-1 [-1, x] 0\n", `line 2: ReLU-1: output shape: "x" is not a whole number`},
		{"negative dimension", summaryHead + "ReLU-1 [-1, -4] 0\n", "is no shape"},
		{"empty shape", summaryHead + "ReLU-1 [] 0\n", "holds no shape"},
		{"huge dimensions", summaryHead + "ReLU-1 [-1, 1000000000, 1000000000] 0\n", "want 0 to 1e15"},
		{"beyond any dimension", summaryHead + "ReLU-1 [-1, 9999999999999999] 0\n", "is no shape"},
		{"many dimensions", summaryHead + "ReLU-1 [" + strings.Repeat("1,", 40) + "1] 0\n", "is no shape"},
		{"no parameters", summaryHead + "ReLU-1 [-1, 4]\n", "parameters: \"\" is not a count"},
		{"negative parameters", summaryHead + "ReLU-1 [-1, 4] -3\n", "is not a count"},
		{"bad total", summaryHead + "ReLU-1 [-1, 4] 0\nTotal params: many\n", "line 3: total"},
		{"long line", summaryHead + strings.Repeat("x", 1<<20), "line 2 is longer than 65536 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := readAs(TorchSummary)(strings.NewReader(c.text), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || f != nil {
				t.Fatalf("got %v, %v, want an error with %q", f, err, c.want)
			}
		})
	}
}

func TestWarningsAreBounded(t *testing.T) {
	f, err := readAs(TorchSummary)(strings.NewReader(summaryHead+"ReLU-1 [-1, 4] 0\n"+strings.Repeat("noise\n", 10_000)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(f.Warnings); got != reading.MaxWarnings+1 {
		t.Errorf("got %d warnings", got)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("disk on fire")

func TestReadErrors(t *testing.T) {
	if _, err := Read(strings.NewReader("no model at all"), nil); !errors.Is(err, ErrFormat) {
		t.Errorf("got %v, want ErrFormat", err)
	}
	if _, err := Read(brokenReader{}, nil); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the reader's error", err)
	}
	if _, err := readAs(TorchSummary)(brokenReader{}, nil); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the reader's error", err)
	}
	missing := filepath.Join(t.TempDir(), "none.txt")
	if _, err := ReadFile(missing, nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("got %v, want one that names the path", err)
	}
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"model_type":"bert"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(bad, nil); err == nil || !strings.HasPrefix(err.Error(), "modelfile: "+bad+": huggingface: ") {
		t.Errorf("got %v, want path and format in front", err)
	}
}

func TestReadFileNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my-gpt2")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.json")
	if err := os.WriteFile(path, []byte(configs[3].json), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFile(path, nil)
	if err != nil || f.Model.Name != "my-gpt2" {
		t.Errorf("got %v, want the folder's name", err)
	}
}

// TestRealDumps reads the dumps in COLLOC_DATA/models, which are not ours to
// commit.
func TestRealDumps(t *testing.T) {
	dir := os.Getenv("COLLOC_DATA")
	if dir == "" {
		t.Skip("set COLLOC_DATA to the folder with the measured data to run this test")
	}
	for file, params := range map[string]int64{
		"resnet50_32.model": 25_557_032, "vgg_64.model": 138_357_544,
		"resnet18_cifar100.model": 11_227_812, "mnist_cnn_64.model": 1_199_882,
	} {
		f, err := ReadFile(filepath.Join(dir, "models", file), nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := f.Model.Params(); got != params || f.TotalParams.Or(0) != params {
			t.Errorf("%s: got %d parameters, file says %v, want %d", file, got, f.TotalParams, params)
		}
	}
}

func FuzzReadTorchSummary(f *testing.F) {
	f.Add([]byte(mlp().torchsummary(-1, 784)))
	f.Add([]byte(resnet(32, []int{1, 1}, true, 10).torchsummary(32, 1)))
	f.Add([]byte(summaryHead + "LSTM-1 [[-1, 7], [[-1, 2], [-1, 2]]] 0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read(bytes.NewReader(data), nil)
		if err != nil {
			return
		}
		for i, l := range file.Model.Layers {
			if err := l.Validate(); err != nil {
				t.Errorf("layer %d: %v", i, err)
			}
		}
	})
}

func BenchmarkReadTorchSummary(b *testing.B) {
	text := resnet(224, []int{3, 8, 36, 3}, true, 1000).torchsummary(-1, 1)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := readAs(TorchSummary)(strings.NewReader(text), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleRead_torchSummary() {
	f, err := Read(strings.NewReader(`
        Layer (type)               Output Shape         Param #
================================================================
            Conv2d-1           [-1, 32, 26, 26]             320
              ReLU-2           [-1, 32, 26, 26]               0
         MaxPool2d-3           [-1, 32, 13, 13]               0
            Linear-4                   [-1, 10]          54,090
================================================================
Total params: 54,410
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range f.Model.Layers {
		fmt.Println(l.Kind, l.Neurons, l.Params, l.Activations)
	}
	fmt.Println(f.Model.Params(), f.TotalParams)
	// Output:
	// conv 32 320 21632
	// activation 0 0 21632
	// pool 0 0 5408
	// linear 10 54090 10
	// 54410 54410
}

func ExampleReadFile() {
	f, err := ReadFile("testdata/resnet50.txt", &Options{Name: "ResNet-50"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Model.Name, f.Model.Params(), f.Warnings)
	// Output: ResNet-50 25557032 [16 rows of unknown classes without parameters were taken for containers and left out]
}

// TestTorchSummaryOfMLPs reads nets without any image.
func TestTorchSummaryOfMLPs(t *testing.T) {
	for name, c := range map[string]struct {
		net    *net
		family profile.Family
		params int64
	}{
		"mlp":   {mlp(), profile.MLP, 784*2048 + 2048 + 2*(2048*2048+2048) + 20490},
		"neumf": {neuMF(), profile.Recommender, (138_493+26_744)*192 + 256*256 + 256 + 256*128 + 128 + 128*64 + 64 + 129},
	} {
		f, err := readAs(TorchSummary)(strings.NewReader(c.net.torchsummary(64, 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.Model.Guess() != c.family || f.Model.Params() != c.params {
			t.Errorf("%s: got %v, %d, want %v, %d", name, f.Model.Guess(), f.Model.Params(), c.family, c.params)
		}
	}
}
