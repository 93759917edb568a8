// Package race tells tests whether they run with the race detector, under which code
// takes five to ten times as long: what compares many random problems with a slow twin
// compares fewer then. The same test without the detector compares them all.
package race

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// Fewer is n, and with the race detector a sixteenth of it, but at least 1.
func Fewer(n int) int {
	if Enabled {
		return max(1, n/16)
	}
	return n
}

// Run runs the tests of a package from its TestMain, under the race detector with fewer
// checks of package rapid unless a flag of the command says how many.
func Run(m *testing.M) {
	if Enabled {
		if err := flag.Set("rapid.checks", "12"); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1) //nolint:forbidigo // this is the main function of a test
		}
	}
	m.Run()
}
