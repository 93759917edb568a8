package describe

import (
	"flag"
	"fmt"
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

// product is the GPU of -gpu, else that which a name stands for; nil if neither is
// known.
func (s *settings) product(name string) (*profile.GPUModel, error) {
	if s.gpu != "" {
		name = s.gpu
	}
	g, ok := profile.LookupGPU(name)
	switch {
	case ok:
		return &g, nil
	case s.gpu != "":
		return nil, s.unknownGPU()
	}
	return nil, nil //nolint:nilnil // not known is fine
}
