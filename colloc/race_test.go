//go:build race

package colloc_test

// raceEnabled says that the race detector runs: it makes sync.Pool drop items
// at random, so that allocations cannot be counted.
const raceEnabled = true
