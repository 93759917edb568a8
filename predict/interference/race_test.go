//go:build race

package interference

// raceEnabled: the race detector makes sync.Pool drop items at random.
const raceEnabled = true
