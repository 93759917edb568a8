//go:build unix

package guest

import (
	"syscall"

	"example.com/colloc/profile"
)

// umask is that of this process.
func umask() profile.Opt[uint32] {
	mask := syscall.Umask(0o077)
	syscall.Umask(mask)
	return profile.Some(uint32(mask)) //nolint:gosec // nine bits
}
