//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package filelock

import (
	"errors"
	"fmt"
	"os"
)

var errNoLocks = fmt.Errorf("locks of files need Linux or macOS: %w", errors.ErrUnsupported)

// Take keeps nobody out: the commands that lock run tasks, on Linux only.
func Take(*os.File) error { return nil }

// Wait needs locks; [errors.ErrUnsupported].
func Wait(*os.File) error { return errNoLocks }

// Release has nothing to end.
func Release(*os.File) error { return nil }
