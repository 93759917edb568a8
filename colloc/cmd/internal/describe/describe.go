package describe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile"
)

// settings are the flags.
type settings struct {
	batch, sequence int
	gpu             string
	json, spec      bool
	training        profile.Training
	head            string
}

// Program is colloc describe.
func Program() cli.Program {
	return cli.Program{
		Name: "describe", Short: "Say what is understood of model files",
		Run:   func(_ context.Context, args []string, s cli.Streams) int { return run(args, s.Out, s.Err) },
		Flags: new(settings).flags, Words: map[string]func() []string{"gpu": catalogue}, Files: true,
	}
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

const help = `Describe says what is understood of model files: ONNX, safetensors, GGUF, Hugging
Face config.json, Keras, and the text of torchsummary, torchinfo or print(model).

usage: colloc describe [flags] FILE...

  colloc describe config.json model.onnx
  colloc describe -batch 32 -gpu A100 summary.txt
  colloc describe -batch 32 -precision bf16 -spec config.json >> tasks.json

`

// run is the command; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	var s settings
	flags := s.flags()
	switch err := cli.Parse(flags, args); {
	case errors.Is(err, flag.ErrHelp):
		cli.Explain(stdout, help, flags, "\nexit status: 0, 2 for wrong usage and files that cannot be understood, 1 for what else fails\n")
		return 0
	case err == nil && flags.NArg() == 0:
		err = errors.New("no file")
		fallthrough
	case err != nil:
		say(stderr, "colloc describe:", err.Error()+"; -h explains")
		return 2
	}
	var out bytes.Buffer
	failed := false
	for _, path := range flags.Args() {
		if err := s.describe(&out, path); err != nil {
			say(stderr, "colloc describe:", err)
			failed = true
		}
	}
	if failed {
		return 2
	}
	if _, err := stdout.Write(out.Bytes()); err != nil {
		say(stderr, "colloc describe:", err)
		return 1
	}
	return 0
}

// say writes a line for people; there is nobody to tell if that fails.
func say(w io.Writer, words ...any) { _, _ = fmt.Fprintln(w, words...) }

// catalogue is the names of the GPUs that are known.
func catalogue() (names []string) {
	for _, g := range profile.GPUs() {
		names = append(names, g.Name)
	}
	return names
}

func (s *settings) describe(w *bytes.Buffer, path string) error {
	heads := map[string]modelfile.Head{"default": modelfile.DefaultHead, "none": modelfile.NoHead, "language": modelfile.LanguageHead}
	head, ok := heads[s.head]
	if !ok {
		return fmt.Errorf("-head %q is none of default, none and language", s.head)
	}
	f, err := modelfile.ReadFile(path, &modelfile.Options{SequenceLength: s.sequence, Head: head})
	if err != nil {
		return err
	}
	spec := f.Spec(s.batch)
	spec.Training = s.training
	spec.Training.BatchSize = s.batch
	if err := spec.Validate(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if s.spec {
		return json.NewEncoder(w).Encode(spec)
	}
	m := f.Model
	d := description{
		File: path, Format: f.Format.String(), Name: m.Name, Family: m.Guess().String(), Params: m.Params(), Layers: len(m.Layers),
		Batch: s.batch, Warnings: []string{}, spec: spec,
	}
	if total, ok := f.TotalParams.Get(); ok {
		d.TotalParams = &total
	}
	if activations, ok := m.Activations(); ok {
		d.Activations = &activations
	}
	if macs, ok := m.MACs(); ok {
		d.MACs = &macs
	}
	for _, warning := range f.Warnings {
		d.Warnings = append(d.Warnings, warning.String())
	}
	if s.gpu != "" {
		g, ok := profile.LookupGPU(s.gpu)
		if !ok {
			return fmt.Errorf("-gpu %q is not in the catalogue, which has %s", s.gpu, strings.Join(catalogue(), ", "))
		}
		d.gpu = &g
	}
	if s.json {
		return json.NewEncoder(w).Encode(d)
	}
	return d.print(w)
}
