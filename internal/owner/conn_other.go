//go:build !linux

package owner

import "net/netip"

// OfEnd is not known here.
func OfEnd(local, remote netip.AddrPort) (uid uint32, known bool) { return 0, false }
