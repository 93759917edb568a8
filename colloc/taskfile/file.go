package taskfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"example.com/colloc/internal/replace"
)

// Format and Version are what files that this package writes begin with.
const (
	Format  = "colloc-tasks"
	Version = 1
)

// MaxFile is the largest file in bytes; beyond it reading is an error.
const MaxFile = 64 << 20

// File is a list of tasks.
type File struct {
	// About is for people.
	About string
	// Tasks are in the order of the file.
	Tasks []Task
	// Slurm are the settings of colloc slurm; nil is none.
	Slurm json.RawMessage
}

// layout is the JSON form.
type layout struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	About   string          `json:"about,omitempty"`
	Slurm   json.RawMessage `json:"slurm,omitempty"`
	Tasks   []Task          `json:"tasks"`
}

// Write writes a task file. A task that [Read] would refuse is an error, and
// nothing is written.
func Write(w io.Writer, f *File) error {
	text, err := f.text()
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

func (f *File) text() ([]byte, error) {
	if len(f.Tasks) == 0 {
		return nil, errors.New("taskfile: no tasks to write")
	}
	seen := make(map[string]bool, len(f.Tasks))
	for i := range f.Tasks {
		t := &f.Tasks[i]
		err := t.check()
		if err == nil && seen[t.ID] {
			err = errors.New("this id was used before")
		}
		if err != nil {
			return nil, fmt.Errorf("taskfile: task %q: %w", t.ID, err)
		}
		seen[t.ID] = true
	}
	text, err := json.MarshalIndent(layout{Format, Version, f.About, f.Slurm, f.Tasks}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("taskfile: %w", err)
	}
	return append(text, '\n'), nil
}

// WriteFile replaces the task file at path, or leaves it as it was.
func WriteFile(path string, f *File) error {
	text, err := f.text()
	if err != nil {
		return err
	}
	return replace.Text(path, text)
}
