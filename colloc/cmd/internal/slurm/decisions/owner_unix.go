//go:build unix

package decisions

import (
	"io/fs"
	"strconv"
	"syscall"
)

// ownedBy reports whether a file belongs to a user, who thus wrote it.
func ownedBy(info fs.FileInfo, uid string) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && strconv.FormatUint(uint64(stat.Uid), 10) == uid
}
