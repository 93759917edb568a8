package describe

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/internal/golden"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
)

const testdata = "../../../../profile/modelfile/testdata"

// gpt2 writes a config.json and returns its path.
func gpt2(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "gpt2")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.json")
	config := `{"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257}`
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestText(t *testing.T) {
	var out, errs bytes.Buffer
	path := gpt2(t)
	if code := run([]string{"-batch", "32", "-gpu", "a100", testdata + "/resnet50.txt", path}, &out, &errs); code != 0 {
		t.Fatal(code, errs.String())
	}
	got := strings.ReplaceAll(out.String(), path, "gpt2/config.json")
	golden.Check(t, "describe.txt", got)
}

func TestJSON(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"-json", "-seq", "256", testdata + "/vgg19_32.txt", gpt2(t)}, &out, &errs); code != 0 {
		t.Fatal(code, errs.String())
	}
	type line struct {
		Format      string   `json:"format"`
		Name        string   `json:"name"`
		Params      int64    `json:"params"`
		Layers      int      `json:"layers"`
		Activations int64    `json:"activations_per_sample"`
		Warnings    []string `json:"warnings"`
	}
	want := []line{
		{"torchsummary", "vgg19_32", 143_667_240, 45, 31_285_224, []string{}},
		{"huggingface", "gpt2", 124_439_808, 125, 63_197_440, []string{}},
	}
	var got []line
	for dec := json.NewDecoder(&out); dec.More(); {
		var l line
		if err := dec.Decode(&l); err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSpec prints a specification that reads back, with what the flags say.
// TestPlain: what files and their names say to a terminal is text.
func TestPlain(t *testing.T) {
	const orders = "\x1b]0;title\a\x1b[2J"
	good, bad := filepath.Join(t.TempDir(), orders+"good"), filepath.Join(t.TempDir(), orders+"bad")
	for dir, config := range map[string]string{
		good: `{"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257}`,
		bad:  `{"model_type": "bert", "architectures": ["\u001b]0;title\u0007\u001b[2J"], "hidden_size": 8}`,
	} {
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600), os.WriteFile(filepath.Join(dir, orders+".log"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]int{good: 0, bad: 2, filepath.Join(bad, "config.json"): 2} {
		var out, errs bytes.Buffer
		if code := run([]string{path}, &out, &errs); code != want {
			t.Errorf("%q: status %d, want %d: %s", path, code, want, &errs)
		}
		if text := out.String() + errs.String(); text == "" || strings.ContainsAny(text, "\x1b\a") {
			t.Errorf("%q: %q", path, text)
		}
	}
}

func TestSpec(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"-spec", "-batch", "8", "-precision", "bf16", "-optimizer", "sgd", "-checkpointing", "-head", "none", gpt2(t)}
	if code := run(args, &out, &errs); code != 0 {
		t.Fatal(code, errs.String())
	}
	var spec profile.Spec
	if err := json.Unmarshal(out.Bytes(), &spec); err != nil {
		t.Fatal(err)
	}
	want := profile.Training{BatchSize: 8, Precision: profile.BF16, Optimizer: profile.SGD, Checkpointing: true}
	last := spec.Model.Layers[len(spec.Model.Layers)-1]
	if diff := cmp.Diff(want, spec.Training); diff != "" || spec.Model.Params() != 124_439_808 || spec.Model.Architecture != "gpt2" || last.Name != "ln_f" {
		t.Errorf("%s; %d parameters, %q, the last layer is %q", diff, spec.Model.Params(), spec.Model.Architecture, last.Name)
	}
}

func TestErrors(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "prose.txt")
	if err := os.WriteFile(bad, []byte("no model"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := testdata + "/resnet50.txt"
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nothing", nil, 2, "no file; see -h"},
		{"unknown flag", []string{"-x"}, 2, "not defined"},
		{"no such file", []string{good, "none.onnx"}, 2, "none.onnx: no such file"},
		{"no model", []string{bad, good}, 2, "format not recognised"},
		{"negative batch", []string{"-batch", "-3", good}, 2, "batch_size is -3"},
		{"negative length", []string{"-seq", "-3", gpt2(t)}, 2, "SequenceLength"},
		{"unknown head", []string{"-head", "two", good}, 2, `-head "two" is none of`},
		{"unknown precision", []string{"-precision", "fp7", good}, 2, "unknown precision"},
		{"a slice", []string{"-gpu", "A100-SXM4-40GB MIG 1g.5gb", good}, 2, "predicts for whole cards: -gpu A100-40GB"},
		{"unknown GPU", []string{"-gpu", "abacus", good}, 2, `-gpu "abacus" is not in the catalogue, which has K40, `},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(c.args, &out, &errs); code != c.code || !strings.Contains(errs.String(), c.want) || out.Len() > 0 {
				t.Errorf("got %d, %q on standard error, %q on standard output", code, errs.String(), out.String())
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"-h"}, &out, &errs); code != 0 || errs.Len() > 0 || !strings.Contains(out.String(), "usage: colloc describe") || !strings.Contains(out.String(), "-batch N") {
		t.Errorf("got %d, %q on standard error, %q on standard output", code, errs.String(), out.String())
	}
}
