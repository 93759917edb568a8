package find

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/colloc/profile"
)

// Words are what the words of a command tell of a training.
type Words struct {
	Batch     profile.Opt[int]
	Workers   profile.Opt[int]
	Optimizer profile.Opt[profile.Optimizer]
	Precision profile.Opt[profile.Precision]
	// Recompute says that activations are recomputed.
	Recompute bool
	// Paths are the files and folders that are named, the newest guesses first.
	Paths []string
}

// Command reads the words of a command that runs in dir, as Hugging Face's, timm's
// and most other scripts write them: --batch-size 32, --per_device_train_batch_size=8,
// -b 16, --bf16, --optim adamw.
func Command(words []string, dir string) Words {
	var w Words
	for i, word := range words {
		name, value, joined := strings.Cut(word, "=")
		if !strings.HasPrefix(word, "-") {
			w.path(word, dir)
			continue
		}
		if joined {
			w.path(value, dir)
		} else if i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			value = words[i+1]
		}
		w.flag(strings.ReplaceAll(strings.ToLower(strings.TrimLeft(name, "-")), "_", "-"), value)
	}
	return w
}

// flag takes one flag.
func (w *Words) flag(name, value string) {
	number := func(to *profile.Opt[int], most int) {
		if n, err := strconv.Atoi(value); err == nil && n >= 0 && n <= most {
			*to = profile.Some(n)
		}
	}
	on := value != "false" && value != "False" && value != "0"
	switch name {
	case "batch-size", "batchsize", "batch", "bs", "b", "per-device-train-batch-size", "train-batch-size", "micro-batch-size":
		number(&w.Batch, profile.MaxBatch)
		if n, ok := w.Batch.Get(); ok && n == 0 {
			w.Batch = profile.Opt[int]{}
		}
	case "num-workers", "workers", "j", "dataloader-num-workers":
		number(&w.Workers, 1<<20)
	case "opt", "optim", "optimizer":
		var o profile.Optimizer
		value, _, _ = strings.Cut(strings.ToLower(value), "_") // adamw_torch
		if o.UnmarshalText([]byte(value)) == nil {
			w.Optimizer = profile.Some(o)
		}
	case "bf16":
		if on {
			w.Precision = profile.Some(profile.BF16)
		}
	case "fp16", "amp", "mixed-precision":
		if on && value != "no" {
			w.Precision = profile.Some(profile.Mixed)
		}
	case "tf32":
		if on {
			w.Precision = profile.Some(profile.TF32)
		}
	case "gradient-checkpointing", "grad-checkpointing", "checkpointing":
		w.Recompute = on
	}
}

// path takes a word that may name a file or a folder.
func (w *Words) path(word, dir string) {
	if word == "" {
		return
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(dir, word)
	}
	if info, err := os.Stat(word); err == nil && (info.IsDir() || rankOf(word) >= 0) {
		w.Paths = append(w.Paths, word)
	}
}

// Apply fills in what a specification does not say itself. A batch of 1 says
// nothing.
func (w *Words) Apply(t *profile.Training) {
	if n, ok := w.Batch.Get(); ok && t.BatchSize <= 1 {
		t.BatchSize = n
	}
	if n, ok := w.Workers.Get(); ok && t.Workers == 0 {
		t.Workers = n
	}
	if o, ok := w.Optimizer.Get(); ok && t.Optimizer == 0 {
		t.Optimizer = o
	}
	if p, ok := w.Precision.Get(); ok && t.Precision == profile.FP32 {
		t.Precision = p
	}
	t.Checkpointing = t.Checkpointing || w.Recompute
}
