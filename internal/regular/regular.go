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

// Named opens what a user names, to read it as it is now: of a file that grows meanwhile the rest is not read, so that there is
// an end. What is no regular file, such as a pipe, is waited for and read as it comes. Only a regular file is an [io.Seeker].
func Named(path string) (fs.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return asItIs(f, info), nil
}

// Found is [Named] of a file that nobody named: its name stands in a folder or in another file. What is no regular file is
// refused as [Open] does.
func Found(path string) (fs.File, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, err
	}
	return asItIs(f, info), nil
}

// asItIs keeps a regular file from growing. A file that the kernel writes while it is read has no size.
func asItIs(f *os.File, info fs.FileInfo) fs.File {
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return f
	}
	return still{f, io.NewSectionReader(f, 0, info.Size())}
}

// still is a file that does not grow.
type still struct {
	file *os.File
	*io.SectionReader
}

func (s still) Stat() (fs.FileInfo, error) { return s.file.Stat() }
func (s still) Close() error               { return s.file.Close() }

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

// Among opens a file of a folder in which others make and remove files, too, with the flags of [os.OpenFile], and waits for
// nobody: what lies outside of the folder, behind a link, is not reached. Who makes the file lets all write to it where all may
// write to the folder.
func Among(dir *os.Root, name string, how int) (*os.File, error) {
	all, err := dir.Stat(".")
	if err != nil {
		return nil, err
	}
	var f *os.File
	err = fs.ErrExist
	if how&os.O_CREATE != 0 {
		const everybody = 0o777
		if f, err = dir.OpenFile(name, how|os.O_EXCL, 0o600); err == nil && all.Mode().Perm() == everybody {
			err = f.Chmod(everybody)
		}
	}
	if errors.Is(err, fs.ErrExist) && how&os.O_EXCL == 0 {
		f, err = dir.OpenFile(name, how&^os.O_CREATE|syscall.O_NONBLOCK, 0)
	}
	if f == nil {
		return nil, err
	}
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr); err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Large is more bytes than a file has that a program keeps for itself.
const Large = 1 << 30

// Read reads a file that [Open] opens, of at most so many bytes.
func Read(path string, most int64) ([]byte, error) {
	f, _, err := Open(path)
	if err != nil {
		return nil, err
	}
	return Rest(f, most)
}

// Tail reads the last bytes, at most so many, of a file that [Open] opens: those that were there then.
func Tail(path string, most int64) ([]byte, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-most), most))
}

// Rest reads what is left of a file, of at most so many bytes, and closes it. Of a file that has more nothing is read.
func Rest(f *os.File, most int64) ([]byte, error) {
	defer func() { _ = f.Close() }() // it was only read
	longer := fmt.Errorf("%s: more than %d bytes", f.Name(), most)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, longer
	}
	text, err := io.ReadAll(io.LimitReader(asItIs(f, info), most+1))
	if err == nil && int64(len(text)) > most { // it has no size
		err = longer
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}
