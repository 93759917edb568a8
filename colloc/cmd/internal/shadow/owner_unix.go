//go:build unix

package shadow

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// owner is the name of the user whose a process is, or the number.
func owner(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	uid := strconv.FormatUint(uint64(stat.Uid), 10)
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}
