package keep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"example.com/colloc/internal/regular"
	"example.com/colloc/internal/replace"
)

// File is a value as JSON in a file. It is safe for concurrent use.
type File[T any] struct {
	mu   sync.Mutex
	path string
}

// Open reads the file of that name in dir; the zero of T if there is none.
func Open[T any](dir, name string) (*File[T], T, error) {
	f := &File[T]{path: filepath.Join(dir, name)}
	var value T
	text, err := regular.Read(f.path, regular.Large)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, value, nil
	case err != nil:
		return nil, value, err
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, value, fmt.Errorf("%s: %w: move it away to begin without what it says", f.path, err)
	}
	return f, value, nil
}

// Write replaces what the file says.
func (f *File[T]) Write(value T) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return replace.File(f.path, func(file *os.File) error {
		_, err := file.Write(append(text, '\n'))
		return errors.Join(err, file.Sync())
	})
}
