// Package race tells tests whether they run with the race detector, under which code
// takes five to ten times as long: what compares many random problems with a slow twin
// compares fewer then. The same test without the detector compares them all.
package race

import "flag"

// Fewer is n, and with the race detector a sixteenth of it, but at least 1.
func Fewer(n int) int {
	if Enabled {
		return max(1, n/16)
	}
	return n
}

// FewerChecks makes the checks of package rapid fewer under the race detector, unless
// a flag of the command says how many. Call it in TestMain.
func FewerChecks() error {
	if Enabled {
		return flag.Set("rapid.checks", "12")
	}
	return nil
}
