package dataset

import (
	"io"

	"example.com/colloc/predict/memory"
)

// TogetherRow is the memory of one measured pair.
type TogetherRow struct {
	// Line is the row's line in the file.
	Line int
	// Observation is the sum of the solo peaks and the peak of both together.
	Observation memory.TogetherObservation
	// Groups are the models of the two tasks.
	Groups []string
}

// ReadTogether reads, from Lucid's pairs, the memory of each pair beside that of
// its tasks alone. Rows without one of the three amounts are left out. file names
// the source in errors. O(rows).
func ReadTogether(file string, r io.Reader) ([]TogetherRow, error) {
	t, err := readTable(file, r)
	if err != nil {
		return nil, err
	}
	if err := t.require("model_a", "model_b", "solo_mem_used_mib_a", "solo_mem_used_mib_b", "pair_mem_used_mib"); err != nil {
		return nil, err
	}
	var out []TogetherRow
	for i := range t.rows {
		line := t.row(i)
		a, b, both := line.mib("solo_mem_used_mib_a"), line.mib("solo_mem_used_mib_b"), line.mib("pair_mem_used_mib")
		if err := line.err(); err != nil {
			return nil, err
		}
		if a.Or(0) <= 0 || b.Or(0) <= 0 || both.Or(0) <= 0 {
			continue
		}
		out = append(out, TogetherRow{
			Line: t.lines[i], Groups: []string{line.text("model_a"), line.text("model_b")},
			Observation: memory.TogetherObservation{Solo: a.Or(0) + b.Or(0), Together: both.Or(0)},
		})
	}
	return out, nil
}
