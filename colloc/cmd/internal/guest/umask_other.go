//go:build !unix

package guest

import "example.com/colloc/profile"

// umask is that of this process; missing, for there is none.
func umask() profile.Opt[uint32] { return profile.Opt[uint32]{} }
