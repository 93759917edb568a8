package slurm

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// under is a path that jobs see from the folder of the sweep, where they run.
func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// writeJSON replaces a file, or leaves it as it was.
func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return replace(path, append(text, '\n'))
}

func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name()) //nolint:errcheck // the first error counts
	}
	return err
}

// load reads a file with read, or takes what there is otherwise.
func load[T any](path string, read func(io.Reader) (T, error), otherwise func() (T, error)) (T, error) {
	if path == "" {
		return otherwise()
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return otherwise()
	}
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	v, err := read(f)
	if err != nil {
		err = wrong("%s: %w", path, err)
	}
	return v, err
}
