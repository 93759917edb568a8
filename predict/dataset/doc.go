// Package dataset reads measured tasks from CSV files into the observations
// that the packages of predict fit and validate on.
//
// The columns are those of the public measurement sets that colloc is evaluated
// on (GPUMemNet, CARMA, AEGIS, Horus, Lucid, Gavel, tally-bench, MISO, MIGProfiler); a file of your own with the
// same columns works as well. A layout is recognised by its columns, extra
// columns are ignored, and an empty cell is a missing value, never zero.
//
// The memory sets hold aggregates of a network (how many layers of a kind, how
// many elements they put out together, the largest of them), not its layers.
// The readers build a [profile.Spec] whose layers have the same counts, sums
// and maxima, so that a model fitted on it also serves real layer lists.
//
// Every error names file, line and column.
package dataset
