package taskfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"example.com/colloc/internal/jsondoc"
	"example.com/colloc/internal/regular"
)

// Options say what a reader needs beside the text.
type Options struct {
	// Name is the file in errors; empty is "tasks".
	Name string
	// Open opens the files that the tasks name in model_file; nil is that there are
	// none.
	Open func(name string) (fs.File, error)
}

// ReadFile reads the task file at path; model files are relative to it.
func ReadFile(path string) (*File, error) {
	d, err := jsondoc.ReadFile(path, MaxFile)
	if err != nil {
		return nil, err
	}
	return read(d, func(name string) (fs.File, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		return regular.Found(name)
	})
}

// Read reads a task file, or one of the other forms in the package comment. Every
// task that it returns can be planned. A fault of the file is an [*Error];
// [ErrFormat] and [ErrVersion] tell what it is not. O(size).
func Read(r io.Reader, o *Options) (*File, error) {
	name := "tasks"
	var open func(string) (fs.File, error)
	if o != nil {
		open = o.Open
		if o.Name != "" {
			name = o.Name
		}
	}
	d, err := jsondoc.Read(r, name, MaxFile)
	if err != nil {
		return nil, fmt.Errorf("taskfile: %w", err)
	}
	return read(d, open)
}

func read(d *jsondoc.Document, open func(string) (fs.File, error)) (*File, error) {
	in := &reader{Document: d, open: open, places: make(map[string]string)}
	err := in.read()
	var place *jsondoc.Error
	switch {
	case errors.As(err, &place):
		return nil, &Error{File: place.File, Line: place.Line, Err: place.Err}
	case err != nil:
		return nil, err
	}
	return &in.file, nil
}

func (r *reader) read() error {
	start := bytes.TrimLeft(r.Data, " \t\r\n")
	if len(start) == 0 || start[0] != '{' {
		return r.ErrorAt(0, ErrFormat)
	}
	var all json.RawMessage
	if err := r.Decode(r.Whole(), &all); err != nil { // where its syntax is wrong
		return err
	}
	parts, err := r.Members(r.Whole())
	if err != nil {
		return err
	}
	find := func(key string) (jsondoc.Part, bool) {
		i := slices.IndexFunc(parts, func(p jsondoc.Part) bool { return p.Key == key })
		if i < 0 {
			return jsondoc.Part{}, false
		}
		return parts[i], true
	}
	tasks, listed := find("tasks")
	format, versioned := find("format")
	switch _, model := find("model"); {
	case versioned:
		if err := r.header(format, find); err != nil {
			return err
		}
	case !listed && model:
		return r.spec()
	}
	if err := r.rest(parts, versioned); err != nil {
		return err
	}
	if !listed {
		return r.ErrorAt(len(r.Data), errors.New(`no tasks: want a "tasks" list; see -h for an example`))
	}
	return r.tasks(tasks)
}

// tasks reads the list of tasks.
func (r *reader) tasks(tasks jsondoc.Part) error {
	list, err := r.Members(tasks)
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].Key != "" {
		return r.ErrorAt(tasks.Offset, errors.New(`no tasks: "tasks" wants a list of at least one; see -h for an example`))
	}
	for _, p := range list {
		var t Task
		if err := r.Decode(p, &t); err != nil {
			return err
		}
		if err := r.add(p.Offset, t); err != nil {
			return err
		}
	}
	return nil
}

// header checks format and version.
func (r *reader) header(format jsondoc.Part, find func(string) (jsondoc.Part, bool)) error {
	var name string
	if err := r.Decode(format, &name); err != nil {
		return err
	}
	if name != Format {
		return r.ErrorAt(format.Offset, fmt.Errorf("format is %q: %w", name, ErrFormat))
	}
	version, ok := find("version")
	if !ok {
		return r.ErrorAt(format.Offset, fmt.Errorf("version is missing: %w", ErrVersion))
	}
	var n int
	if err := r.Decode(version, &n); err != nil {
		return err
	}
	if n != Version {
		return r.ErrorAt(version.Offset, fmt.Errorf("%w %d, this program reads %d: use the colloc that wrote the file, or a newer one", ErrVersion, n, Version))
	}
	return nil
}

// rest reads what stands beside the tasks.
func (r *reader) rest(parts []jsondoc.Part, versioned bool) error {
	old := make(map[string]json.RawMessage)
	for _, p := range parts {
		switch {
		case p.Key == "tasks" || p.Key == "format" && versioned || p.Key == "version" && versioned:
		case p.Key == "about":
			if err := r.Decode(p, &r.file.About); err != nil {
				return err
			}
		case p.Key == "slurm" && versioned:
			if p.Raw[0] != '{' {
				return r.ErrorAt(p.Offset, errors.New(`"slurm" wants an object`))
			}
			r.file.Slurm = p.Raw
		case !versioned && slices.Contains(slurmKeys, p.Key):
			old[p.Key] = p.Raw
		default:
			return r.ErrorAt(p.Offset, fmt.Errorf("unknown field %q", p.Key))
		}
	}
	return r.section("slurm", old)
}

// Section reads the settings of a tool, which are raw, into v: File.Slurm for
// example. Unknown fields are errors; nil settings leave v as it is.
func Section(raw json.RawMessage, v any) error {
	if raw == nil {
		return nil
	}
	d, err := jsondoc.Read(bytes.NewReader(raw), "settings", MaxFile)
	if err != nil {
		return err
	}
	return d.Decode(d.Whole(), v)
}
