package taskfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, want a JSON file", path)
	}
	return Read(f, &Options{Name: filepath.Base(path), Open: func(name string) (fs.File, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		return os.Open(name)
	}})
}

// Read reads a task file, or one of the older forms in the package comment. Every
// task that it returns can be planned. A fault of the file is an [*Error];
// [ErrFormat] and [ErrVersion] tell what it is not. O(size).
func Read(r io.Reader, o *Options) (*File, error) {
	in := &reader{document: document{name: "tasks"}, places: make(map[string]string)}
	if o != nil {
		in.open = o.Open
		if o.Name != "" {
			in.name = o.Name
		}
	}
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("taskfile: %s: %w", in.name, err)
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("taskfile: %s is larger than %d MiB", in.name, MaxFile>>20)
	}
	in.data = data
	if err := in.read(); err != nil {
		return nil, err
	}
	return &in.file, nil
}

func (r *reader) read() error {
	start := bytes.TrimLeft(r.data, " \t\r\n")
	if len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return r.errorAt(0, ErrFormat)
	}
	var all json.RawMessage
	if err := r.decode(r.whole(), &all); err != nil { // where its syntax is wrong
		return err
	}
	if start[0] == '[' {
		parts, err := r.members(r.whole())
		if err != nil {
			return err
		}
		if len(parts) == 0 {
			return r.errorAt(0, errors.New("no tasks: the list is empty"))
		}
		return r.kinds(parts)
	}
	parts, err := r.members(r.whole())
	if err != nil {
		return err
	}
	find := func(key string) (part, bool) {
		i := slices.IndexFunc(parts, func(p part) bool { return p.key == key })
		if i < 0 {
			return part{}, false
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
		return r.errorAt(len(r.data), errors.New(`no tasks: want a "tasks" list; see -h for an example`))
	}
	return r.tasks(tasks)
}

// tasks reads the list of tasks.
func (r *reader) tasks(tasks part) error {
	list, err := r.members(tasks)
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].key != "" {
		return r.errorAt(tasks.offset, errors.New(`no tasks: "tasks" wants a list of at least one; see -h for an example`))
	}
	for _, p := range list {
		var t Task
		if err := r.decode(p, &t); err != nil {
			return err
		}
		if err := r.add(p.offset, t); err != nil {
			return err
		}
	}
	return nil
}

// header checks format and version.
func (r *reader) header(format part, find func(string) (part, bool)) error {
	var name string
	if err := r.decode(format, &name); err != nil {
		return err
	}
	if name != Format {
		return r.errorAt(format.offset, fmt.Errorf("format is %q: %w", name, ErrFormat))
	}
	version, ok := find("version")
	if !ok {
		return r.errorAt(format.offset, fmt.Errorf("version is missing: %w", ErrVersion))
	}
	var n int
	if err := r.decode(version, &n); err != nil {
		return err
	}
	if n != Version {
		return r.errorAt(version.offset, fmt.Errorf("%w %d, this program reads %d: use the colloc that wrote the file, or a newer one", ErrVersion, n, Version))
	}
	return nil
}

// rest reads what stands beside the tasks.
func (r *reader) rest(parts []part, versioned bool) error {
	old := make(map[string]json.RawMessage)
	for _, p := range parts {
		switch {
		case p.key == "tasks" || p.key == "format" && versioned || p.key == "version" && versioned:
		case p.key == "about":
			if err := r.decode(p, &r.file.About); err != nil {
				return err
			}
		case p.key == "slurm" && versioned:
			if p.raw[0] != '{' {
				return r.errorAt(p.offset, errors.New(`"slurm" wants an object`))
			}
			r.file.Slurm = p.raw
		case !versioned && slices.Contains(slurmKeys, p.key):
			old[p.key] = p.raw
		default:
			return r.errorAt(p.offset, fmt.Errorf("unknown field %q", p.key))
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
	d := &document{name: "settings", data: raw}
	return d.decode(d.whole(), v)
}
