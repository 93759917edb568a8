//go:build race

package predict

// raceEnabled: the race detector makes sync.Pool drop items at random.
const raceEnabled = true
