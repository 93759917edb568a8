package find

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/colloc/profile"
)

const (
	summary = "----\n        Layer (type)               Output Shape         Param #\n====\n            Linear-1                   [-1, 10]             110\n====\nTotal params: 110\n"
	config  = `{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 64, "n_layer": 2, "n_head": 2, "vocab_size": 100, "n_positions": 32}`
	spec    = `{"model": {"name": "mine", "layers": [{"kind": "linear", "params": 7, "activations": 1}]}, "training": {"batch_size": 16}}`
)

// The file that tells most is taken, of equals the newest.
func TestModel(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		used  string
		batch int
	}{
		{"nothing", map[string]string{"train.py": "import torch"}, "", 4},
		{"a summary", map[string]string{"summary.txt": summary, "requirements.txt": "torch"}, "summary.txt", 4},
		{"a config before a summary", map[string]string{"summary.txt": summary, "config.json": config}, "config.json", 4},
		{"a specification before all", map[string]string{"summary.txt": summary, "config.json": config, "out/spec.json": spec}, "out/spec.json", 16},
		{"one that is broken", map[string]string{"summary.txt": summary, "config.json": "{"}, "summary.txt", 4},
		{"the newest", map[string]string{"a.txt": summary, "b.txt": summary}, "b.txt", 4},
		{"not what is written", map[string]string{"skip.json": spec, "a.txt": summary}, "a.txt", 4},
		{"not deep", map[string]string{"a/b/c/summary.txt": summary}, "", 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tt.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				old := time.Unix(1e9, 0)
				if name == "a.txt" {
					if err := os.Chtimes(path, old, old); err != nil {
						t.Fatal(err)
					}
				}
			}
			d := Model([]string{dir}, filepath.Join(dir, "skip.json"), 4, nil)
			used := strings.TrimPrefix(d.Used, dir+string(filepath.Separator))
			if filepath.ToSlash(used) != tt.used || d.Spec.Training.BatchSize != tt.batch || (d.Used == "") != (len(d.Spec.Model.Layers) == 0) || (d.Used == "") != (d.Why == "") {
				t.Errorf("used %q (%s), batch %d; want %q, batch %d; failed %q", used, d.Why, d.Spec.Training.BatchSize, tt.used, tt.batch, d.Failed)
			}
		})
	}
}

// A file that somebody names is read whatever its name is, and what is wrong with it is told.
func TestNamed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"gpt2.json": config, "model": summary, "notes.md": "# notes"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name   string
		layers int
		failed string
	}{
		{"gpt2.json", 25, ""},
		{"model", 1, ""},
		{"notes.md", 0, "notes.md: format not recognised"},
		{"nothing", 0, "no such file"},
		{"", 0, ""}, // the folder, in which no file has the name of one that describes
	} {
		d := Named(filepath.Join(dir, tt.name), 4, nil)
		if len(d.Spec.Model.Layers) != tt.layers || (d.Used != "") != (tt.layers > 0) || !strings.Contains(strings.Join(d.Failed, "; "), tt.failed) {
			t.Errorf("%q: used %q (%s), %d layers, failed %q", tt.name, d.Used, d.Why, len(d.Spec.Model.Layers), d.Failed)
		}
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		words string
		want  Words
		then  profile.Training
	}{
		{"train.py", Words{}, profile.Training{BatchSize: 1}},
		{"train.py --batch-size 32 -j 4 --opt sgd --amp", Words{
			Batch: profile.Some(32), Workers: profile.Some(4), Optimizer: profile.Some(profile.SGD), Precision: profile.Some(profile.Mixed),
		}, profile.Training{BatchSize: 32, Workers: 4, Optimizer: profile.SGD, Precision: profile.Mixed}},
		{"train.py --per_device_train_batch_size=8 --bf16 True --optim adamw_torch --gradient_checkpointing --config config.json", Words{
			Batch: profile.Some(8), Precision: profile.Some(profile.BF16), Optimizer: profile.Some(profile.Adam), Recompute: true, Paths: []string{path},
		}, profile.Training{BatchSize: 8, Precision: profile.BF16, Optimizer: profile.Adam, Checkpointing: true}},
		{"train.py --batch-size many --bf16 false --batch 0 --mixed_precision no", Words{}, profile.Training{BatchSize: 1}},
	} {
		got := Command(strings.Fields(tt.words), dir)
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.words, diff)
		}
		training := profile.Training{BatchSize: 1}
		if got.Apply(&training); training != tt.then {
			t.Errorf("%s: %+v, want %+v", tt.words, training, tt.then)
		}
	}
}
