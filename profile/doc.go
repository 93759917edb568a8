// Package profile is the vocabulary of colloc: what a training task is and
// what was seen of it.
//
// A [Spec] describes a task before it ran: the layers of its model, its data
// set, its batch, precision and optimiser. A [Trace] holds what was observed
// while it ran alone on a GPU: samples of SM and DRAM activity, memory and
// power. [New] turns both, with the [GPUModel] they refer to, into a [Profile]:
// the specification plus a [Vector] of named features with a mask of what is
// missing. Prediction and packing know tasks by their profiles only.
// FEATURES.md lists the features; it is generated from their table.
//
// [Spec.Terms] says what precision, recomputed activations, accumulated gradients
// and sharding make of the parts of a task's memory and of its work.
//
// Specifications come from model files through package modelfile, traces from
// logs and Prometheus through package tracefile.
//
// The package also holds the words that every other package shares: [Bytes],
// [Mechanism], the GPU catalogue behind [LookupGPU] and [Opt], a value that may
// be absent. Missing is never zero: a counter that a GPU does not have stays
// missing through every stage.
//
// profile imports the standard library alone, starts no goroutine, reads no
// clock and keeps no state: everything in it is safe for concurrent use as long
// as values are not modified while they are read.
package profile
