package probe

import (
	"fmt"
	"path/filepath"
	"time"

	"example.com/colloc/colloc/cmd/internal/find"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile"
)

// describe finds what the task is: in the files that its command names, in its
// folder, and in the words of its command.
func (w *watched) describe() profile.Spec {
	o := w.o
	var args []string
	if len(w.words) > 1 {
		args = w.words[1:]
	}
	words := find.Command(args, w.dir)
	reads, batch := &modelfile.Options{SequenceLength: o.sequence}, max(1, o.batch)
	var d find.Description
	if o.model != "" {
		d = find.Named(o.model, batch, reads)
	} else {
		d = find.Model(append(words.Paths, w.dir), o.out, batch, reads)
	}
	if d.Used != "" {
		w.say("described by %s (%s)", d.Used, d.Why)
	} else if o.model != "" && len(d.Failed) > 0 {
		w.say("-model %s describes nothing: %s", o.model, d.Failed[0])
	}
	t := &d.Spec.Training
	if o.given["batch"] {
		t.BatchSize = max(1, o.batch)
	}
	if o.given["optimizer"] {
		t.Optimizer = o.training.Optimizer
	}
	if o.given["precision"] {
		t.Precision = o.training.Precision
	}
	t.Checkpointing = t.Checkpointing || o.training.Checkpointing
	words.Apply(t)
	if d.Spec.Model.Name == "" {
		d.Spec.Model.Name = o.id
	}
	return d.Spec
}

// write makes the task file of what was seen.
func (w *watched) write(now time.Time, whole bool) error {
	p, timing, err := w.watch.Conclude(now, w.describe(), w.host.Models[w.tenants.gpu])
	if err != nil {
		return err
	}
	if whole {
		timing.Whole = profile.Some(now.Sub(w.started))
	}
	t := solo.Task(w.o.id, p, &timing)
	t.Command, t.Dir = w.words, w.dir
	if t.Solo != nil {
		t.Solo.Source = "colloc profile"
		t.Solo.Steps = w.reading.Total
		if w.o.total > 0 {
			t.Solo.Steps = profile.Some(w.o.total)
		}
	}
	switch {
	case w.crowded > 0 && w.o.shared:
		t.Warnings = append(t.Warnings, fmt.Sprintf("the GPU was not alone (%s): what was seen is not the task's alone", w.others))
	case w.crowded > 0:
		t.Warnings = append(t.Warnings, fmt.Sprintf("others came to the GPU (%s): %d of %d samples are left out; those that remain may begin late", w.others, w.crowded, w.looks))
	}
	t.Missing = w.missing(&t)
	if err := taskfile.WriteFile(w.o.out, &taskfile.File{About: "measured by colloc profile", Tasks: []taskfile.Task{t}}); err != nil {
		return err
	}
	w.report(&t, p, &timing)
	return nil
}

// report says what was seen, what is missing, and what to do with the file.
func (w *watched) report(t *taskfile.Task, p *profile.Profile, timing *solo.Timing) {
	w.say("%s", screen.Measured(t.ID, p, timing))
	for _, text := range t.Warnings {
		w.say("note: %s", text)
	}
	for _, gap := range t.Missing {
		w.say("missing: %v", gap)
	}
	out := grammar.QuoteWord(filepath.Clean(w.o.out))
	w.say("wrote %s; colloc describe %s predicts from it, colloc sweep -known %s ... needs to measure nothing", out, out, out)
}

// missing is what was not found out, and how to get it.
func (w *watched) missing(t *taskfile.Task) (gaps []taskfile.Gap) {
	gap := func(missing bool, what, get string) {
		if missing {
			gaps = append(gaps, taskfile.Gap{What: what, Get: get})
		}
	}
	s := t.Solo
	if s == nil {
		s = &taskfile.Solo{}
	}
	_, activations := t.Model.Activations()
	gap(len(t.Model.Layers) == 0, "the layers of the model, without which nothing is known at another batch, precision or GPU",
		"-model FILE: a config.json, the text of torchinfo or torchsummary, an ONNX file, or a specification")
	gap(len(t.Model.Layers) > 0 && !activations, "the outputs of the layers", "-model FILE with shapes: a summary made with an input size")
	gap(t.Training.BatchSize <= 1 && !w.o.given["batch"], "the batch size, taken to be 1", "-batch N")
	gap(s.StepTime.IsZero(), "steps, without which speeds beside others cannot be measured", "-step REGEXP finds them in the output, or the task writes \"STEP TOTAL\" into the file that COLLOC_PROGRESS names")
	gap(!s.StepTime.IsZero() && s.Steps.IsZero() && s.RunTime.IsZero(), "how many steps the task takes, and so how long it runs", "-steps N")
	gap(w.peak.IsZero(), "the memory of the task", "let it run until it uses the GPU: -time 2m; a driver that tells whose memory it is")
	gap(s.GPUBusy.IsZero() && s.SMActive.IsZero(), "use of the GPU", "a longer -time, or a driver that tells utilisation")
	gap(!s.GPUBusy.IsZero() && s.SMActive.IsZero(), "SM activity: GPU busy is its upper bound", "root rights or DCGM on data-centre GPUs; a trace of nsys or of the PyTorch profiler tells it, too: colloc describe TRACE")
	gap(s.CPUBusy.IsZero(), "CPU use, which tells whether the task waits for its data", "Linux")
	return gaps
}
