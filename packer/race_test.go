//go:build race

package packer

// raceEnabled says that the race detector runs: it makes replays of whole
// clusters thirty times slower, and they have nothing to race.
const raceEnabled = true
