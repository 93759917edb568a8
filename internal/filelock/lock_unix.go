//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Take takes a file that nobody else has; [ErrInUse] if somebody does.
func Take(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	return err
}

// Wait takes a file when nobody else has it.
func Wait(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Release lets the next one have a file.
func Release(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
