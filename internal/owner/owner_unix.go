//go:build unix

package owner

import (
	"io/fs"
	"syscall"
)

// Of returns the number of the user whose a file is; false where nobody knows.
func Of(info fs.FileInfo) (uid uint32, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, true
}
