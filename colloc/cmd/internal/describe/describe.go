package describe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/find"
	"example.com/colloc/internal/plain"
	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile"
	"example.com/colloc/profile/tracefile"
)

// Program is colloc describe.
func Program() cli.Program {
	return cli.Program{
		Name: "describe", Short: "Say what is understood of model files",
		Run:   func(_ context.Context, args []string, s cli.Streams) int { return run(args, s.Out, s.Err) },
		Flags: new(settings).flags, Words: map[string]func() []string{"gpu": catalogue}, Files: true,
	}
}

const help = `Describe says what is understood of model files: ONNX, safetensors, GGUF, Hugging
Face config.json, Keras, and the text of torchsummary, torchinfo or print(model); of task files, of logs
of GPU use and of traces of the PyTorch profiler and nsys; and of the folder of a training,
whose files make one description: the model from the file that tells most, the batch from what
the trainer wrote, what was seen from logs and traces, and the checkpoint held against them.
With a GPU it predicts, too: peak memory, use, the speed beside a copy.

usage: colloc describe [flags] FILE...

  colloc describe config.json model.onnx
  colloc describe -batch 32 -gpu A100 summary.txt
  colloc describe colloc-task.json
  colloc describe -gpu A100 trace.json dmon.log
  colloc describe -gpu A100 runs/bert
  colloc describe -batch 32 -precision bf16 -spec config.json >> tasks.json

`

// run is the command; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	var s settings
	flags := s.flags()
	err := cli.Parse(flags, args, stdout, help, "\nexit status: 0, 2 for wrong usage and files that cannot be understood, 1 for what else fails\n")
	if err == nil && flags.NArg() == 0 {
		err = cli.Usage("no file; see -h")
	}
	if err != nil {
		return cli.Exit(stderr, "colloc describe", err)
	}
	flags.Visit(func(f *flag.Flag) { s.given = append(s.given, f.Name) })
	var out bytes.Buffer
	status := 0
	for _, path := range flags.Args() {
		if err := s.describe(&out, path); err != nil {
			status = cli.Exit(stderr, "colloc describe", cli.Usage("%w", err))
		}
	}
	if status != 0 {
		return status
	}
	text := out.Bytes()
	if !s.json && !s.spec {
		text = []byte(plain.Lines(out.String())) // names in files of others
	}
	_, err = stdout.Write(text)
	return cli.Exit(stderr, "colloc describe", err)
}

// folder describes the task whose files lie in a folder.
func (s *settings) folder(w *bytes.Buffer, path string, o *modelfile.Options) error {
	f, err := find.ReadFolder(path, s.batch, o)
	if err != nil {
		return err
	}
	t := &f.Task
	if f.Stated != "" {
		if err := s.ofModel(path + "/" + f.Stated); err != nil {
			return err
		}
	} else {
		batch := t.Training.BatchSize
		t.Training = s.training
		if t.Training.BatchSize = batch; slices.Contains(s.given, "batch") {
			t.Training.BatchSize = s.batch
		}
	}
	if t.Solo != nil {
		if _, ok := t.Solo.Product(); !ok && s.gpu != "" { // it does not name the GPU
			t.Solo.GPU = s.gpu
		}
	}
	if err := s.task(w, path, t, f.Sources); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (s *settings) describe(w *bytes.Buffer, path string) error {
	heads := map[string]modelfile.Head{"default": modelfile.DefaultHead, "none": modelfile.NoHead, "language": modelfile.LanguageHead}
	head, ok := heads[s.head]
	if !ok {
		return fmt.Errorf("-head %q is none of default, none and language", s.head)
	}
	if find.IsTask(path) {
		return s.tasks(w, path)
	}
	options := &modelfile.Options{SequenceLength: s.sequence, Head: head}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return s.folder(w, path, options)
	}
	f, err := modelfile.ReadFile(path, options)
	if err != nil {
		log, other := tracefile.ReadFile(path, nil)
		switch {
		case other == nil:
			return s.trace(w, path, log)
		case errors.Is(other, tracefile.ErrOther):
			return other
		case errors.Is(err, modelfile.ErrFormat) && !errors.Is(other, tracefile.ErrFormat):
			return other
		}
		return err
	}
	return s.model(w, path, f)
}

// model describes a model file.
func (s *settings) model(w *bytes.Buffer, path string, f *modelfile.File) (err error) {
	spec := f.Spec(s.batch)
	spec.Training = s.training
	spec.Training.BatchSize = s.batch
	if err := spec.Validate(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if s.spec {
		return json.NewEncoder(w).Encode(spec)
	}
	d := newDescription(path, f.Format.String(), &spec)
	if total, ok := f.TotalParams.Get(); ok {
		d.TotalParams = &total
	}
	for _, warning := range f.Warnings {
		d.Warnings = append(d.Warnings, warning.String())
	}
	if d.gpu, err = s.product(""); err != nil {
		return err
	}
	if d.gpu != nil {
		p, err := profile.New(spec, profile.Trace{}, *d.gpu)
		if err == nil {
			d.Predict, err = s.predictor.predict(&p, d.gpu, profile.Opt[float64]{})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if s.json {
		return json.NewEncoder(w).Encode(d)
	}
	return d.print(w)
}
