// Package pace judges how fast GPUs are said to be for a task: slices of a GPU by
// MIG, mixes of tasks on them, and whole cards beside one another.
package pace

import (
	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict/dataset"
)

// Sets are single tasks on slices, mixes under MPS and on slices, and cards.
func Sets() []protocol.Set {
	mig := func(name, fitOn string) protocol.Set {
		return protocol.NewSet(name, func(folder, base string) (*migTable, error) { return openMIG(folder, base, fitOn) })
	}
	return []protocol.Set{
		mig("mig_miso", "mig_migperf"), mig("mig_migperf", "mig_miso"),
		protocol.NewSet("mps_to_mig_miso", func(folder, base string) (mixTable, error) {
			return protocol.OpenFile(folder, base, dataset.ReadMixes)
		}),
		protocol.NewSet("pace", func(folder, base string) (paceTable, error) {
			return protocol.OpenFile(folder, base, dataset.ReadPace, func(r dataset.PaceRow) bool { return r.Excluded != "" })
		}),
	}
}
