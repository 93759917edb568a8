//go:build linux || darwin

package burn

import (
	"sync/atomic"
	"syscall"
	"time"
)

// spin uses the CPU until this process has had d more of it: with others on the
// same cores it takes longer.
func spin(d time.Duration) {
	x := uint64(d)
	for end := cpuTime() + d; cpuTime() < end; {
		for range 10_000 { // far longer than a look at the clock
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	burned.Store(x)
}

// burned keeps the compiler from finding that nobody wants what spin computes.
var burned atomic.Uint64

// cpuTime is how long this process has computed.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// alive reports whether a process runs.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
