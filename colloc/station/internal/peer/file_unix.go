//go:build unix

package peer

import (
	"io/fs"
	"os"

	"example.com/colloc/internal/owner"
)

// Made reports whether there is a socket that this user made: in a folder that all may
// write to somebody else could have put one.
func Made(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	uid, known := owner.Of(info)
	return known && int(uid) == os.Geteuid()
}
