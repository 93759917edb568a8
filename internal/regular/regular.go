package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"example.com/colloc/internal/owner"
)

// Open opens a file to read it, and waits for nobody: what is no regular file, such as a pipe or a device without end, is
// an error that is [fs.ErrInvalid].
func Open(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// OpenOf opens a file of a user with the flags and the mode of [os.OpenFile], and waits for nobody: never what somebody put in
// its place, be it a link, another's file, or no regular one. Where users have no numbers it is anybody's.
func OpenOf(uid uint32, path string, how int, mode fs.FileMode) (*os.File, error) {
	stranger := fmt.Errorf("%s is another user's, or a link, or no regular file: %w", path, fs.ErrInvalid)
	f, err := os.OpenFile(path, how|noFollow|syscall.O_NONBLOCK, mode)
	if errors.Is(err, syscall.ELOOP) {
		return nil, stranger
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if of, known := owner.Of(info); !info.Mode().IsRegular() || known && of != uid {
			err = stranger
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read reads a file that [Open] opens, of at most so many bytes.
func Read(path string, most int64) ([]byte, error) {
	f, _, err := Open(path)
	if err != nil {
		return nil, err
	}
	return Rest(f, most)
}

// Rest reads what is left of a file, of at most so many bytes, and closes it. Of a file that has more nothing is read.
func Rest(f *os.File, most int64) ([]byte, error) {
	defer func() { _ = f.Close() }() // it was only read
	longer := fmt.Errorf("%s: more than %d bytes", f.Name(), most)
	if info, err := f.Stat(); err == nil && info.Size() > most {
		return nil, longer
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most { // it grew
		err = longer
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}
