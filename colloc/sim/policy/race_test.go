//go:build race

package policy_test

// raceEnabled says that the tests run with the race detector, which makes the
// published experiments some ten times as slow.
const raceEnabled = true
