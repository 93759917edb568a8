package taskfile

import (
	"errors"
	"fmt"
	"io/fs"

	"example.com/colloc/internal/jsondoc"
	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile"
)

// reader is a task file while it is read.
type reader struct {
	*jsondoc.Document
	open   func(name string) (fs.File, error)
	file   File
	places map[string]string // of each ID
}

// add checks a task and takes it over.
func (r *reader) add(offset int, t Task) error {
	t.place = fmt.Sprintf("%s:%d", r.Name, r.Line(offset))
	var err error
	if r.places[t.ID] != "" {
		err = fmt.Errorf("this id was used before, at %s", r.places[t.ID])
	}
	if err == nil {
		err = r.readModel(&t)
	}
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return &Error{File: r.Name, Line: r.Line(offset), Task: t.ID, Err: err}
	}
	r.places[t.ID] = t.place
	r.file.Tasks = append(r.file.Tasks, t)
	return nil
}

// readModel adds what a task's model file says; what the task states itself wins.
func (r *reader) readModel(t *Task) error {
	if t.ModelFile == "" {
		return nil
	}
	switch {
	case len(t.Model.Layers) > 0:
		return errors.New("model.layers and model_file are both given")
	case r.open == nil:
		return fmt.Errorf("model_file %s: there is no folder to find it in", t.ModelFile)
	}
	f, err := r.open(t.ModelFile)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	file, err := modelfile.Read(f, &modelfile.Options{SequenceLength: t.SeqLen})
	if err != nil {
		return fmt.Errorf("model_file %s: %w", t.ModelFile, err)
	}
	stated := t.Model
	t.Model = file.Model
	if stated.Name != "" {
		t.Model.Name = stated.Name
	}
	if stated.Family != profile.UnknownFamily {
		t.Model.Family = stated.Family
	}
	if stated.Architecture != "" {
		t.Model.Architecture = stated.Architecture
	}
	read := file.Spec(1)
	if t.Dataset.SampleElements.IsZero() {
		t.Dataset.SampleElements = read.Dataset.SampleElements
	}
	t.Warnings = append(t.Warnings, read.Warnings...)
	t.ModelFile, t.SeqLen = "", 0
	return nil
}
