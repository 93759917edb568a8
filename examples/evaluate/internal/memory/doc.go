// Package memory judges what is said of peak memory: the error of the guess, and
// whether what is reserved holds at the asked risk of running out.
package memory

import "example.com/colloc/examples/evaluate/internal/protocol"

// Sets are seven sets of peak memory and one of that of pairs.
func Sets() []protocol.Set {
	fitOn := func(more ...string) []string {
		return append([]string{"memory_mlp", "memory_cnn", "memory_timm"}, more...)
	}
	return []protocol.Set{
		memorySet{title: "memory_mlp"},
		memorySet{title: "memory_cnn"},
		memorySet{title: "memory_timm", others: []string{"faketensor"}},
		memorySet{title: "memory_carma_real", others: []string{"horus", "faketensor", "gpumemnet"}, fitOn: fitOn("memory_transformer", "mig_migperf")},
		encoderSet{memorySet{title: "memory_transformer", fitOn: fitOn("memory_carma_real", "mig_migperf")}},
		memorySet{title: "memory_migperf", file: "mig_migperf", fitOn: fitOn("memory_carma_real", "memory_transformer")},
		memorySet{title: "memory_horus_fc_mnist", others: []string{"horus"}},
		togetherSet{},
	}
}
