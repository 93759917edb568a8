package memory

import (
	"strconv"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// encoderSet is a set of generated encoders, of which widths, depths and batches are
// left out.
type encoderSet struct{ memorySet }

func (s encoderSet) Open(folder, base string) (protocol.Table, error) {
	t, err := s.open(folder, base)
	return encoderTable{t}, err
}

type encoderTable struct{ *memoryTable }

// Splits deals rows at random and leaves out widths, depths and batches.
func (t encoderTable) Splits() []protocol.Split {
	leave := func(of func(i int) string) []protocol.Fold {
		groups := make([][]string, t.Size())
		for i := range groups {
			groups[i] = []string{of(i)}
		}
		return predict.GroupFolds(groups, protocol.FamilyLimit)
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
		{Name: "width", Folds: leave(t.Family)},
		{Name: "depth", Folds: leave(depth)},
		{Name: "batch", Folds: leave(batch)},
	}
}
