//go:build unix

package decide

import (
	"io/fs"
	"os"
	"syscall"
)

// own reports whether a file is this user's: what another one has written others may know.
func own(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
