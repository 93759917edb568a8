// Package pace judges how fast GPUs are said to be for a task: slices of a GPU by
// MIG, mixes of tasks on them, and whole cards beside one another.
package pace

import "example.com/colloc/examples/evaluate/internal/protocol"

// Sets are single tasks on slices, mixes under MPS and on slices, and cards.
func Sets() []protocol.Set {
	return []protocol.Set{migSet{"mig_miso", "mig_migperf"}, migSet{"mig_migperf", "mig_miso"}, mixSet{}, paceSet{}}
}
