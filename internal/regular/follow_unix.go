//go:build unix

package regular

import "syscall"

// noFollow lets a link in the place of a file be an error.
const noFollow = syscall.O_NOFOLLOW
