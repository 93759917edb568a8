// Package replace writes files of which others see all, or what was there before.
package replace

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// File puts what write writes in place of the file at path. If anything goes wrong, the
// old file is still there and no other is left; what a process that was killed left goes with
// the first File of another process an hour later. The new one is the owner's alone, mode 0600,
// unless write changes that; write calls Sync where the loss of power counts. What is there and no
// regular file, such as a link or a device, stays: that is [fs.ErrInvalid].
func File(path string, write func(*os.File) error) error { return file(path, 0o600, write) }

func file(path string, mode fs.FileMode, write func(*os.File) error) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "replace what is no regular file", Path: path, Err: fs.ErrInvalid}
	}
	dir, begins := filepath.Dir(path), "."+filepath.Base(path)+"."
	if _, done := tidied.LoadOrStore(path, true); !done {
		tidy(dir, begins)
	}
	f, err := create(filepath.Join(dir, begins), mode)
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

// create makes a file that was not there; begins is its path but for a number.
func create(begins string, mode fs.FileMode) (f *os.File, err error) {
	for range 100 {
		f, err = os.OpenFile(begins+strconv.FormatUint(uint64(rand.Uint32()), 10), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

// tidied are the paths whose remains were looked for: a folder may be large.
//
//nolint:gochecknoglobals // once in each process
var tidied sync.Map

// tidy removes what was written beside a file and never put in its place.
func tidy(dir, begins string) {
	const longest = time.Hour     // that anybody writes
	entries, _ := os.ReadDir(dir) // File tells
	for _, e := range entries {
		number, ours := strings.CutPrefix(e.Name(), begins)
		if !ours || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > longest { //nolint:forbidigo // files have the times of the system's clock
			_ = os.Remove(filepath.Join(dir, e.Name())) // another's stays
		}
	}
}

// Text is File with what is to be written.
func Text(path string, text []byte) error {
	return File(path, func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
}

// Shared is Text with a mode, less what the process' umask takes: others may read such a file. A user who names a
// device or a link, such as /dev/stdout, means what is behind it: that is written to, and may be left half.
func Shared(path string, mode fs.FileMode, text []byte) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, text, mode)
	}
	return file(path, mode, func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
}
