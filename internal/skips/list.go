package main

import (
	"fmt"
	"slices"
	"strings"
)

// test is a test of a package, or with an empty name the package.
type test struct{ pkg, name string }

// entry is a line of the list.
type entry struct {
	test
	line int
}

// parseList reads the entries for a run.
func parseList(text []byte, run string) ([]entry, error) {
	var all []entry
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		const least = 4 // with one word of a reason
		if len(f) < least {
			return nil, fmt.Errorf("the list, line %d: want runs, package, test and reason: %q", n, line)
		}
		if slices.Contains(strings.Split(f[0], ","), run) {
			all = append(all, entry{test{f[1], f[2]}, n})
		}
	}
	return all, nil
}
