// Package replace writes files of which others see all, or what was there before.
package replace

import (
	"errors"
	"os"
	"path/filepath"
)

// File puts what write writes in place of the file at path. If anything goes wrong, the
// old file is still there and no other is left. The new one is the owner's alone, mode
// 0600, unless write changes that; write calls Sync where the loss of power counts.
func File(path string, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error counts
	}
	return err
}

// Text is File with what is to be written.
func Text(path string, text []byte) error {
	return File(path, func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
}
