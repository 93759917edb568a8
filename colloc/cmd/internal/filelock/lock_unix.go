//go:build linux || darwin

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Take takes a file that no other process has; [ErrInUse] if one does. It ends with
// the file.
func Take(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	return err
}
