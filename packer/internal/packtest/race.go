//go:build race

package packtest

// RaceEnabled says that the race detector runs: it makes replays of whole
// clusters thirty times slower, and they have nothing to race.
const RaceEnabled = true
