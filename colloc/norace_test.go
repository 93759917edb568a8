//go:build !race

package colloc_test

// raceEnabled says that the race detector does not run.
const raceEnabled = false
