//go:build !race

package race

// Enabled says that the race detector is not there.
const Enabled = false
