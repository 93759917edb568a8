//go:build !race

package packer

// raceEnabled says that the race detector does not run.
const raceEnabled = false
