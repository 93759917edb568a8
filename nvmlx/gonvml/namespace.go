//go:build linux && cgo

package gonvml

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/colloc/profile"
)

// innerPID returns what a process of the host is called in its own PID namespace,
// as in a container, read from the NSpid line of its status. It is missing for a
// process in the namespace of this one, and for one that cannot be seen from
// here.
func innerPID(proc string, pid int) profile.Opt[int] {
	status, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "status"))
	if err != nil {
		return profile.Opt[int]{}
	}
	for line := range strings.Lines(string(status)) {
		list, ok := strings.CutPrefix(line, "NSpid:")
		if !ok {
			continue
		}
		names := strings.Fields(list)
		if len(names) < 2 || names[0] != strconv.Itoa(pid) { // another process of that number
			break
		}
		if inner, err := strconv.Atoi(names[len(names)-1]); err == nil {
			return profile.Some(inner)
		}
	}
	return profile.Opt[int]{}
}
