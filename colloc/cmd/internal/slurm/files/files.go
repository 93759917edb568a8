package files

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/internal/filelock"
	"example.com/colloc/internal/regular"
	"example.com/colloc/internal/replace"
)

// Under is a path that jobs see from the folder of the sweep, where they run.
func Under(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// WriteJSON replaces a file, or leaves it as it was.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return replace.Text(path, append(text, '\n'))
}

// mostTail is how much of a file Tail reads, in bytes.
const mostTail = 16 << 20

// Tail reads what jobs wrote to a file: its last 16 MiB, for what matters stands at the end, and logs grow without bound.
// Of one that is not there, or no regular file, it is nothing.
func Tail(path string) ([]byte, error) {
	text, err := regular.Tail(path, mostTail)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		err = nil
	}
	return text, err
}

// Load reads a file with read, or takes what there is otherwise.
func Load[T any](path string, read func(io.Reader) (T, error), otherwise func() (T, error)) (T, error) {
	if path == "" {
		return otherwise()
	}
	f, err := regular.Found(path)
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
		err = cli.Usage("%s: %w", path, err)
	}
	return v, err
}

// Lock keeps others who lock the same path away until unlock is called, or the process
// ends. One who does not wait gets [filelock.ErrInUse] if somebody has it.
func Lock(path string, wait bool) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	take := filelock.Take
	if wait {
		take = filelock.Wait
	}
	if err := take(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
