package raw

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"example.com/colloc/internal/filelock"
	"example.com/colloc/profile"
)

// disk is what the raw file needs of an *os.File.
type disk interface {
	io.WriteSeeker
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// File is a raw file that is being written.
type File struct {
	disk   disk
	name   string
	size   int64
	header *Header // that was there when it was opened; nil if none was
}

// Open opens or creates a raw file for this process alone and reads what is
// there.
func Open(name string) (*File, *Contents, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, err
	}
	c, err := func() (*Contents, error) {
		if err := filelock.Take(f); err != nil {
			return nil, fmt.Errorf("%s: %w (does another instance of this program have it?)", name, err)
		}
		return Read(name, f)
	}()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	r := &File{disk: f, name: name, size: c.size, header: c.Header}
	if err := r.cut(); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return r, c, nil
}

// Begin writes the header of a new file, and refuses to go on with one that was
// measured on another machine, with other software or other settings.
func (r *File) Begin(h *Header) error {
	h.Format, h.Version = format, version
	if r.header == nil {
		return r.append(h)
	}
	if err := r.header.same(h); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return nil
}

// AddTask writes what a workload says of itself.
func (r *File) AddTask(name string, spec *profile.Spec) error {
	return r.append(record{Task: &taskRecord{Name: name, Spec: spec}})
}

// AddResult writes a measured cell.
func (r *File) AddResult(res *Result) error { return r.append(record{Result: res}) }

// append writes one line to the disk. After an error the file is as before.
func (r *File) append(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	n, err := r.disk.Write(append(text, '\n'))
	if err == nil {
		err = r.disk.Sync()
	}
	if err != nil {
		return fmt.Errorf("cannot write results: %w; make room and run the same command again: it goes on from here", errors.Join(err, r.cut()))
	}
	r.size += int64(n)
	return nil
}

// cut removes what is not whole.
func (r *File) cut() error {
	if err := r.disk.Truncate(r.size); err != nil {
		return err
	}
	_, err := r.disk.Seek(r.size, io.SeekStart)
	return err
}

// Close ends writing and lets other processes have the file.
func (r *File) Close() error { return r.disk.Close() }

// same refuses to mix machines, software or settings in one file.
func (h *Header) same(now *Header) error {
	a, err := fields(h)
	if err != nil {
		return err
	}
	b, err := fields(now)
	if err != nil {
		return err
	}
	var different []string
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if string(a[key]) != string(b[key]) {
			different = append(different, fmt.Sprintf("%s was %s and is %s", key, a[key], b[key]))
		}
	}
	if len(different) == 0 && len(a) == len(b) {
		return nil
	}
	return fmt.Errorf("was measured under other conditions; choose another -out: %s", strings.Join(different, "; "))
}

// fields returns the parts of a header as JSON.
func fields(h *Header) (map[string]json.RawMessage, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	var m map[string]json.RawMessage
	return m, json.Unmarshal(text, &m)
}
