// Package memory judges what is said of peak memory: the error of the guess, and
// whether what is reserved holds at the asked risk of running out.
package memory

import (
	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict/dataset"
)

// Sets are seven sets of peak memory and one of that of pairs.
func Sets() []protocol.Set {
	fitOn := func(more ...string) []string {
		return append([]string{"memory_mlp", "memory_cnn", "memory_timm"}, more...)
	}
	migperf := set("memory_migperf", settings{fitOn: fitOn("memory_carma_real", "memory_transformer")})
	migperf.File = "mig_migperf"
	together := protocol.NewSet("memory_pairs_lucid", func(folder, base string) (togetherTable, error) {
		return protocol.OpenFile(folder, base, dataset.ReadTogether)
	})
	together.File = "interference_lucid"
	return []protocol.Set{
		set("memory_mlp", settings{}),
		set("memory_cnn", settings{}),
		set("memory_timm", settings{others: []string{"faketensor"}}),
		set("memory_carma_real", settings{others: []string{"horus", "faketensor", "gpumemnet"}, fitOn: fitOn("memory_transformer", "mig_migperf")}),
		set("memory_transformer", settings{fitOn: fitOn("memory_carma_real", "mig_migperf"), splits: (*memoryTable).encoderSplits}),
		migperf,
		set("memory_horus_fc_mnist", settings{others: []string{"horus"}}),
		together,
	}
}
