// Package mig knows how a GPU can be cut into MIG instances: which layouts
// exist, which of them leave running instances alone, and which serves a set of
// tasks best.
//
// An instance occupies memory slices next to each other from one of a few
// starts on; instances must not overlap. That is all: the limit on compute
// slices follows. A [Table] enumerates the layouts of one product from
// [profile.GPUModel.MIG]; there are a few hundred, 297 besides the
// empty one on an A100 without its double-memory profile (19 of them maximal),
// so searches are exhaustive.
//
// The placement table is that of the NVIDIA Multi-Instance GPU User Guide; the
// choice of a layout by predicted speed follows MISO (Li et al., SoCC 2022,
// doi:10.1145/3542929.3563510).
//
// A Table is immutable and safe for concurrent use.
package mig
