// Package memory judges what is said of peak memory: the error of the guess, and
// whether what is reserved holds at the asked risk of running out.
package memory

import "example.com/colloc/examples/evaluate/internal/protocol"

// Sets are seven sets of peak memory and one of that of pairs.
func Sets() []protocol.Set {
	generated := []string{"memory_mlp", "memory_cnn", "memory_timm"}
	return []protocol.Set{
		memorySet{title: "memory_mlp"},
		memorySet{title: "memory_cnn"},
		memorySet{title: "memory_timm", others: []string{"faketensor"}},
		memorySet{title: "memory_carma_real", others: []string{"horus", "faketensor", "gpumemnet"}, fitOn: generated},
		encoderSet{memorySet{title: "memory_transformer", fitOn: generated}},
		memorySet{title: "memory_migperf", file: "mig_migperf", fitOn: generated},
		memorySet{title: "memory_horus_fc_mnist", others: []string{"horus"}},
		togetherSet{},
	}
}
