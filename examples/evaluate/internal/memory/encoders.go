package memory

import (
	"strconv"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/profile"
)

// encoderSplits deals rows of generated encoders at random and leaves out widths, depths
// and batches.
func (t *memoryTable) encoderSplits() []protocol.Split {
	leave := func(of func(i int) string) []protocol.Fold {
		return protocol.LeaveOut(t.Size(), protocol.FamilyLimit, func(i int) []string { return []string{of(i)} })
	}
	depth := func(i int) string {
		n := 0
		for _, l := range t.rows[i].Observation.Spec.Model.Layers {
			if l.Kind == profile.Attention {
				n++
			}
		}
		return strconv.Itoa(n)
	}
	batch := func(i int) string { return strconv.Itoa(t.rows[i].Observation.Spec.Training.BatchSize) }
	return []protocol.Split{
		{Name: "random", Folds: protocol.RandomFolds(t.Size())},
		{Name: "width", Folds: leave(t.family)},
		{Name: "depth", Folds: leave(depth)},
		{Name: "batch", Folds: leave(batch)},
	}
}
