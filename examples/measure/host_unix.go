//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock takes an exclusive lock that ends with the process at the latest.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s: %w", f.Name(), errLocked)
	}
	return err
}
