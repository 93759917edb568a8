//go:build linux || darwin

package sweep

import (
	"errors"
	"os"
	"syscall"
)

// lock takes a file that no other process has; errInUse if one does. It ends with
// the file.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errInUse
	}
	return err
}
