package runner

import "example.com/colloc/colloc/runner/internal/supervise"

// Supervise turns this process into the supervisor of one task if a Runner
// started it for that, and then does not return. Otherwise it does nothing. Call
// it first in main, before flags are read, and in TestMain. The packages that the
// program imports are initialised before, for each run anew: two milliseconds of
// a CPU for a lean program, more for one that links much.
func Supervise() { supervise.Main() }
