package describe

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/profile"
)

// settings are the flags.
type settings struct {
	batch, sequence int
	gpu             string
	json, spec      bool
	training        profile.Training
	head            string
	given           []string // flags that were set

	predictor predictor
}

// flags returns the flags, which fill s.
func (s *settings) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("describe", flag.ContinueOnError)
	flags.IntVar(&s.batch, "batch", 1, "batch size `N` for memory and work")
	flags.IntVar(&s.sequence, "seq", 0, "tokens in a sample of a config.json; 0 is the model's maximum, at most 512")
	flags.StringVar(&s.gpu, "gpu", "", "also compare with this `GPU`, such as A100 or \"RTX 3090\"")
	flags.TextVar(&s.training.Optimizer, "optimizer", profile.Adam, "update `RULE`: sgd, momentum, adam, ...")
	flags.TextVar(&s.training.Precision, "precision", profile.FP32, "number `FORMAT`: fp32, tf32, mixed, bf16, fp16")
	flags.BoolVar(&s.training.Checkpointing, "checkpointing", false, "activations are recomputed in the backward pass")
	flags.StringVar(&s.head, "head", "default", "what sits on a config.json's transformer: default, `none` or language")
	flags.BoolVar(&s.spec, "spec", false, "print the specification alone, to paste into a task file")
	flags.BoolVar(&s.json, "json", false, "print one JSON object a line")
	return flags
}

// catalogue is the names of the GPUs that are known.
func catalogue() (names []string) {
	for _, g := range profile.GPUs() {
		names = append(names, g.Name)
	}
	return names
}

func (s *settings) unknownGPU() error {
	return fmt.Errorf("-gpu %q is not in the catalogue, which has %s", s.gpu, strings.Join(catalogue(), ", "))
}

// ofModel refuses flags that say what a model file does not: other files say it
// themselves.
func (s *settings) ofModel(path string) error {
	for _, name := range []string{"batch", "optimizer", "precision", "checkpointing", "seq", "head"} {
		if slices.Contains(s.given, name) {
			return fmt.Errorf("%s: -%s is for model files: a task file states it itself, and is changed there", path, name)
		}
	}
	return nil
}

// another says whether -gpu is another product than the one that a name stands for.
func (s *settings) another(name string) bool {
	seen, ok := profile.LookupGPU(name)
	asked, known := profile.LookupGPU(s.gpu)
	return ok && known && seen.Name != asked.Name
}

// product is the GPU of -gpu, else that which a name stands for; nil if neither is
// known.
func (s *settings) product(name string) (*profile.GPUModel, error) {
	if s.gpu != "" {
		name = s.gpu
	}
	g, ok := profile.LookupGPU(name)
	switch {
	case ok && (&profile.GPUModel{Name: s.gpu}).Sliced():
		return nil, fmt.Errorf("-gpu %q is a MIG instance, and this predicts for whole cards: -gpu %s", s.gpu, g.Name)
	case ok:
		return &g, nil
	case s.gpu != "":
		return nil, s.unknownGPU()
	}
	return nil, nil //nolint:nilnil // not known is fine
}
