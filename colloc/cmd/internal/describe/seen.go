package describe

import (
	"bytes"
	"encoding/json"
	"fmt"

	"example.com/colloc/colloc/cmd/internal/find"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/profile"
	"example.com/colloc/profile/tracefile"
)

// seen is what is printed of a log, or of what a profiler traced, of one GPU or
// process.
type seen struct {
	File     string            `json:"file"`
	Format   string            `json:"format"`
	Labels   map[string]string `json:"labels,omitempty"`
	Samples  int               `json:"samples"`
	Solo     *taskfile.Solo    `json:"solo"`
	Warnings []string          `json:"warnings"`
	Predict  *prediction       `json:"prediction,omitempty"`
}

// trace describes a log.
func (s *settings) trace(w *bytes.Buffer, path string, f *tracefile.File) error {
	var warnings []string
	for _, err := range f.Warnings {
		warnings = append(warnings, err.Error())
	}
	for i := range f.Traces {
		t := &f.Traces[i]
		if name := t.Labels[tracefile.LabelName]; s.another(name) {
			return fmt.Errorf("%s: the log names %s, -gpu %s: what one GPU did does not tell of another; describe the model for that one", path, name, s.gpu)
		}
		gpu, err := s.product(t.Labels[tracefile.LabelName])
		if err != nil {
			return err
		}
		model := profile.GPUModel{}
		if gpu != nil {
			model = *gpu
		}
		spec := profile.Spec{Training: s.training}
		spec.Training.BatchSize = max(1, s.batch)
		p, err := profile.New(spec, *t, model)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		d := seen{File: path, Format: f.Format.String(), Labels: t.Labels, Samples: len(t.Samples), Solo: taskfile.SoloOf(&p), Warnings: append([]string{}, warnings...)}
		if d.Solo == nil {
			continue
		}
		d.Solo.DataWait, d.Solo.Source = f.DataWait, path
		if gpu == nil {
			d.Solo.Model = nil
			d.Warnings = append(d.Warnings, "the log does not name the GPU: -gpu does, and solo wants one")
		} else if d.Predict, err = s.predictor.predict(&p, gpu, f.DataWait); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := s.write(w, &d); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) write(w *bytes.Buffer, d *seen) error {
	switch {
	case s.spec:
		return json.NewEncoder(w).Encode(d.Solo)
	case s.json:
		return json.NewEncoder(w).Encode(d)
	}
	fmt.Fprintf(w, "%s: %s, %d samples", d.File, d.Format, d.Samples)
	if pid := d.Labels[tracefile.LabelPID]; pid != "" {
		fmt.Fprintf(w, ", process %s", pid)
	}
	if gpu := d.Labels[tracefile.LabelGPU]; gpu != "" {
		fmt.Fprintf(w, ", GPU %s", gpu)
	}
	fmt.Fprintln(w)
	return s.solo(w, d.Solo, d.Predict, d.Warnings)
}

// solo writes what was seen, as it stands in a task file, and what follows.
func (s *settings) solo(w *bytes.Buffer, solo *taskfile.Solo, p *prediction, warnings []string) error {
	if solo != nil {
		text, err := json.Marshal(solo)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  \"solo\": %s\n", text)
	}
	if p != nil {
		p.print(w)
	}
	for _, text := range warnings {
		fmt.Fprintln(w, "  note:", text)
	}
	w.WriteByte('\n')
	return nil
}

// tasks describes a task file, or a specification.
func (s *settings) tasks(w *bytes.Buffer, path string) error {
	if err := s.ofModel(path); err != nil {
		return err
	}
	f, err := taskfile.ReadFile(path)
	if err != nil {
		return err
	}
	for i := range f.Tasks {
		if err := s.task(w, path, &f.Tasks[i], nil); err != nil {
			return fmt.Errorf("%s: %w", f.Tasks[i].Place(), err)
		}
	}
	return nil
}

// task describes a task; sources are the files of the folder that it was made of.
func (s *settings) task(w *bytes.Buffer, path string, t *taskfile.Task, sources []find.Source) error {
	if s.spec {
		return json.NewEncoder(w).Encode(t.Spec)
	}
	var notes []string
	seen := *t
	if t.Solo != nil {
		if _, ok := t.Solo.Product(); !ok {
			notes = append(notes, "what was seen does not name the GPU: -gpu does")
			seen.Solo = nil
		}
	}
	p, err := seen.Profile()
	if err != nil {
		return err
	}
	name, wait := "", profile.Opt[float64]{}
	if seen.Solo != nil {
		name, wait = t.Solo.GPU, t.Solo.DataWait
	}
	gpu, err := s.product(name)
	if err != nil {
		return err
	}
	if gpu == nil && p.GPU.Memory > 0 {
		gpu = &p.GPU
	}
	if s.another(name) { // what was seen there is no measurement here
		notes = append(notes, fmt.Sprintf("seen on %s: what is said of %s is predicted from the specification alone", name, gpu.Name))
		wait = profile.Opt[float64]{}
		if p, err = profile.New(t.Spec, profile.Trace{}, *gpu); err != nil {
			return err
		}
	}
	var predicted *prediction
	if gpu != nil {
		if predicted, err = s.predictor.predict(&p, gpu, wait); err != nil {
			return err
		}
	}
	if s.json {
		return json.NewEncoder(w).Encode(struct {
			File string `json:"file"`
			*taskfile.Task
			Predict *prediction   `json:"prediction,omitempty"`
			Notes   []string      `json:"notes,omitempty"`
			Sources []find.Source `json:"sources,omitempty"`
		}{path, t, predicted, notes, sources})
	}
	if err := headTask(w, path, t, sources, gpu); err != nil {
		return err
	}
	notes = append(notes, t.Warnings...)
	for _, gap := range t.Missing {
		notes = append(notes, "missing: "+gap.String())
	}
	return s.solo(w, t.Solo, predicted, notes)
}

// headTask writes what a task is and what it was made of.
func headTask(w *bytes.Buffer, path string, t *taskfile.Task, sources []find.Source, gpu *profile.GPUModel) error {
	fmt.Fprintf(w, "%s: task %q, %s parameters, batch %d\n", path, t.ID, groupIf(t.Model.Params(), len(t.Model.Layers) > 0 && t.Model.Unknown()&profile.ParamCounts == 0), t.Training.BatchSize)
	for _, source := range sources {
		fmt.Fprintln(w, " ", source)
	}
	if sources == nil || len(t.Model.Layers) == 0 {
		return nil
	}
	d := newDescription(path, "folder", &t.Spec)
	d.gpu = gpu
	return d.printModel(w)
}
