package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"

	"example.com/colloc/internal/filelock"
	"example.com/colloc/internal/regular"
)

const (
	// DefaultBound is the most bytes that a journal and what it was before take.
	DefaultBound = 64 << 20
	// fullEvery is how many lines there are from one that holds all to the next.
	fullEvery = 64
)

// Writer appends to a journal. It is not safe for concurrent use.
type Writer struct {
	path  string
	bound int64
	file  *os.File
	size  int64
	lines int // since the last that held all
	gpus  []GPU
	jobs  map[string]Job
}

// Open opens a journal at its end, or makes one. bound is the most bytes that it takes, at least
// 64 KiB; 0 means [DefaultBound]. It returns an error for a file that is no journal, or in
// which another process writes.
func Open(path string, bound int64) (*Writer, error) {
	w := &Writer{path: path, bound: cmp.Or(bound, DefaultBound)}
	if w.bound < 64<<10 {
		return nil, fmt.Errorf("journal: a bound of %d bytes, want 64 KiB or more", bound)
	}
	if err := w.open(); err != nil {
		return nil, fmt.Errorf("journal: %s: %w", path, err)
	}
	return w, nil
}

// open locks the file, and takes off a line that was cut off.
func (w *Writer) open() error {
	f, err := regular.OpenOf(uint32(os.Geteuid()), w.path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // a number of a user
	if err != nil {
		return err
	}
	w.file, w.lines, w.gpus, w.jobs = f, fullEvery, nil, map[string]Job{}
	fail := func(err error) error { return errors.Join(err, f.Close()) }
	if err := filelock.Take(f); err != nil {
		return fail(fmt.Errorf("another process writes to it: %w", err))
	}
	if w.size, err = whole(f); err != nil {
		return fail(err)
	}
	if err := isJournal(f, w.size); err != nil {
		return fail(err)
	}
	if err := f.Truncate(w.size); err != nil {
		return fail(err)
	}
	if _, err := f.Seek(w.size, io.SeekStart); err != nil {
		return fail(err)
	}
	return nil
}

// whole is the size up to the end of the last line that has one.
func whole(f *os.File) (int64, error) {
	size, err := f.Seek(0, io.SeekEnd)
	buf := make([]byte, 1<<16)
	for err == nil && size > 0 {
		n := min(int64(len(buf)), size)
		_, err = f.ReadAt(buf[:n], size-n)
		if i := bytes.LastIndexByte(buf[:n], '\n'); err == nil && i >= 0 {
			return size - n + int64(i) + 1, nil
		}
		size -= n
	}
	return 0, err
}

// isJournal looks at the header, of which a process that was killed wrote a part at least.
func isJournal(f *os.File, size int64) error {
	head := make([]byte, 256)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	if want, err := json.Marshal(header{format, version}); size == 0 && (err != nil || bytes.HasPrefix(want, line)) {
		return err
	}
	return checkHeader(line)
}

func checkHeader(line []byte) error {
	var h header
	if err := json.Unmarshal(line, &h); err != nil || h.Format != format {
		return errors.New("no journal of colloc's: choose another file")
	}
	if h.Version != version {
		return fmt.Errorf("version %d, want %d: it was written by another version of colloc", h.Version, version)
	}
	return nil
}

// line appends one line; what could not be written whole is taken off.
func (w *Writer) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	n, err := w.file.Write(append(text, '\n'))
	if err != nil {
		_, seek := w.file.Seek(w.size, io.SeekStart)
		w.lines = fullEvery // what changed is not there
		return errors.Join(err, w.file.Truncate(w.size), seek)
	}
	w.size += int64(n)
	return nil
}

// Write appends what changed. After an error nothing was appended, and the next Write tries
// to say all. O(jobs).
func (w *Writer) Write(s *Snapshot) error {
	if w.size > w.bound/2 {
		if err := w.turn(); err != nil {
			return fmt.Errorf("journal: %s: %w", w.path, err)
		}
	}
	if w.size == 0 {
		if err := w.line(header{format, version}); err != nil {
			return fmt.Errorf("journal: %s: %w", w.path, err)
		}
	}
	gone := len(s.GPUs) == 0 && len(w.gpus) > 0 // a change to none cannot be told
	e := entry{At: s.At, Full: gone || w.lines >= fullEvery}
	if e.Full || !slices.Equal(w.gpus, s.GPUs) {
		e.GPUs = s.GPUs
	}
	now := make(map[string]Job, len(s.Jobs))
	for _, j := range s.Jobs {
		if before, ok := w.jobs[j.ID]; e.Full || !ok || !reflect.DeepEqual(before, j) {
			e.Jobs = append(e.Jobs, j)
		}
		now[j.ID] = j
	}
	for id := range w.jobs {
		if _, ok := now[id]; !ok {
			e.Gone = append(e.Gone, id)
		}
	}
	slices.Sort(e.Gone)
	if err := w.line(&e); err != nil {
		return fmt.Errorf("journal: %s: %w", w.path, err)
	}
	if w.lines++; e.Full {
		w.lines = 1
	}
	w.gpus, w.jobs = slices.Clone(s.GPUs), now
	return nil
}

// turn begins a new file, also after a turn that ended halfway.
func (w *Writer) turn() error {
	if err := w.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	if err := os.Rename(w.path, w.path+old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, w.open())
	}
	return w.open()
}

// old is what the file before is called.
const old = ".old"

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }
