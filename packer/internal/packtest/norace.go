//go:build !race

package packtest

// RaceEnabled says that the race detector does not run.
const RaceEnabled = false
