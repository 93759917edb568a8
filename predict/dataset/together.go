package dataset

import (
	"io"
	"slices"

	"example.com/colloc/predict/memory"
)

// TogetherRow is the memory of one measured pair.
type TogetherRow struct {
	// Observation is the sum of the solo peaks and the peak of both together.
	Observation memory.TogetherObservation
	// Groups are the models of the two tasks.
	Groups []string
}

// ReadTogether reads, from Lucid's pairs, the memory of each pair beside that of
// its tasks alone. Rows without one of the three amounts are left out. file names
// the source in errors. O(rows).
func ReadTogether(file string, r io.Reader) ([]TogetherRow, error) {
	rows, err := readRows(file, r, func(line *row, out *TogetherRow) {
		a, b, both := line.mib("solo_mem_used_mib_a"), line.mib("solo_mem_used_mib_b"), line.mib("pair_mem_used_mib")
		if a.Or(0) > 0 && b.Or(0) > 0 && both.Or(0) > 0 {
			out.Groups = []string{line.text("model_a"), line.text("model_b")}
			out.Observation = memory.TogetherObservation{Solo: a.Or(0) + b.Or(0), Together: both.Or(0)}
		}
	}, "model_a", "model_b", "solo_mem_used_mib_a", "solo_mem_used_mib_b", "pair_mem_used_mib")
	return slices.DeleteFunc(rows, func(r TogetherRow) bool { return r.Groups == nil }), err
}
