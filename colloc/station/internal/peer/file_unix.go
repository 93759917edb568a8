//go:build unix

package peer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"example.com/colloc/internal/owner"
)

// Made reports whether there is a socket that this user made: in a folder that all may
// write to somebody else could have put one.
func Made(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	uid, known := owner.Of(info)
	return known && int(uid) == os.Geteuid()
}

// Open opens a file of a user to be read: never what somebody put in its place, and no
// pipe that would let the reader wait.
func Open(path string, uid uint32) (*os.File, error) { return open(path, os.O_RDONLY, uid) }

// Append opens a file of a user that is there, to add to it, with the same care.
func Append(path string, uid uint32) (*os.File, error) {
	return open(path, os.O_WRONLY|os.O_APPEND, uid)
}

func open(path string, how int, uid uint32) (*os.File, error) {
	file, err := os.OpenFile(path, how|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		of, known := owner.Of(info)
		if !info.Mode().IsRegular() || !known || of != uid {
			err = fmt.Errorf("%s is not what was made there", path)
		}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
