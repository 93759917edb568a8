package oom

import (
	"os"
	"strconv"
	"strings"

	"example.com/colloc/profile"
)

// Victims is how many processes the kernel has killed for want of memory since the
// host started, from /proc/vmstat; missing where that does not tell.
func Victims(vmstat string) profile.Opt[int64] {
	text, err := os.ReadFile(vmstat)
	if err != nil {
		return profile.Opt[int64]{}
	}
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(count), 10, 64); err == nil {
				return profile.Some(n)
			}
		}
	}
	return profile.Opt[int64]{}
}
