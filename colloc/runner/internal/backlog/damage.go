package backlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// damageError says that the content of the queue file makes no sense, in
// contrast to a file that cannot be opened.
type damageError struct{ err error }

func (e *damageError) Error() string { return e.err.Error() }
func (e *damageError) Unwrap() error { return e.err }

// ErrCorrupt means that the queue file cannot be read.
var ErrCorrupt = errors.New("corrupt")

// CorruptError says that the queue file was damaged and where it is now.
type CorruptError struct {
	// Path is the queue file, Aside its new name.
	Path  string
	Aside string
	// Err is what is wrong with it.
	Err error
}

// Error names both files and what to do.
func (e *CorruptError) Error() string {
	return "runner: queue file " + e.Path + " is corrupt: " + e.Err.Error() +
		"; it was set aside as " + e.Aside + ", open again to start with an empty queue"
}

// Is makes errors.Is answer for ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns what is wrong.
func (e *CorruptError) Unwrap() error { return e.Err }

// checkPages makes sure that one of the two meta pages of a bbolt file is
// valid and that the file is as long as the newer of them says. bbolt trusts
// the length and would fault.
//
// Source: bbolt v1.4, internal/common/meta.go: after a page header of 16 bytes
// magic, version, page size, flags (4 bytes each), root bucket (16), free list,
// high water mark, transaction, and the FNV-1a sum of all that (8 each).
func checkPages(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	need, newest := int64(-1), uint64(0)
	page := make([]byte, os.Getpagesize())
	for i := range int64(2) {
		if _, err := file.ReadAt(page, i*int64(len(page))); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		length, tx, ok := readMeta(page)
		if ok && tx >= newest {
			need, newest = length, tx
		}
	}
	switch {
	case need < 0:
		return &damageError{errors.New("it has no valid meta page")}
	case need > info.Size():
		return &damageError{fmt.Errorf("it is cut off: %d bytes, want %d", info.Size(), need)}
	}
	return nil
}

// readMeta returns the length of the file and the transaction that a meta page
// tells.
func readMeta(page []byte) (length int64, tx uint64, ok bool) {
	const header, body, magic, version, maxPages = 16, 56, 0xED0CDAED, 2, 1 << 40
	meta := page[header:]
	size := binary.NativeEndian.Uint32(meta[8:])
	pages := binary.NativeEndian.Uint64(meta[40:])
	sum := fnv.New64a()
	_, _ = sum.Write(meta[:body]) // never fails
	ok = binary.NativeEndian.Uint32(meta) == magic && binary.NativeEndian.Uint32(meta[4:]) == version &&
		sum.Sum64() == binary.NativeEndian.Uint64(meta[body:]) && pages < maxPages && size <= 1<<16
	return int64(pages) * int64(size), binary.NativeEndian.Uint64(meta[48:]), ok
}

// setAside renames the file to a name that is not in use yet.
func setAside(path string) (string, error) {
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.corrupt-%d", path, n)
		err := os.Link(path, aside)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		return aside, os.Remove(path)
	}
}
