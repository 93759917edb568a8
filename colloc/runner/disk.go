package runner

import (
	"fmt"

	"example.com/colloc/colloc/runner/internal/supervise"
)

// diskFull says that a disk has no room for another task; empty if it has, or if
// nobody knows.
func (r *Runner) diskFull(dir string) string {
	free, ok := supervise.FreeSpace(dir)
	if !ok || free >= r.config.DiskFloor {
		return ""
	}
	return fmt.Sprintf("the disk of %s is full: %v are free, want %v", dir, free, r.config.DiskFloor)
}
