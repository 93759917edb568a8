package testbed

import (
	"os"
	"syscall"
)

// Program writes a program that may be started at once. A child of this process that is between its fork and its exec would have
// the file open for writing, too, which makes the start fail with "text file busy": so none begins meanwhile.
func Program(path string, text []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, text, 0o755) //nolint:gosec // others may run it
}
