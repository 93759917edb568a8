package memory

import (
	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/memory"
)

// togetherSet is the memory of pairs beside that of their tasks alone.
type togetherSet struct{}

func (togetherSet) Name() string { return "memory_pairs_lucid" }
func (togetherSet) File() string { return "interference_lucid" }

func (togetherSet) Open(folder, base string) (protocol.Table, error) {
	rows, err := protocol.OpenFile(folder, base, dataset.ReadTogether)
	return togetherTable(rows), err
}

type togetherTable []dataset.TogetherRow

func (t togetherTable) Size() int           { return len(t) }
func (t togetherTable) Family(i int) string { return t[i].Groups[0] }

// splits deals pairs at random and leaves out all pairs that touch a family.
func (t togetherTable) Splits() []protocol.Split {
	groups := make([][]string, len(t))
	for i := range t {
		groups[i] = t[i].Groups
	}
	return []protocol.Split{{Name: "random", Folds: protocol.RandomFolds(len(t))}, {Name: "family", Folds: predict.GroupFolds(groups, 0)}}
}

// score reserves the sum and the fitted margin; the baseline reserves the sum.
func (t togetherTable) Score(from protocol.Table, folds []protocol.Fold) ([]protocol.Result, error) {
	train, ok := from.(togetherTable)
	if !ok {
		return nil, protocol.ErrSet
	}
	ours, sum := &memoryScores{model: "colloc", inFolds: protocol.ByFold{}}, &memoryScores{model: "sum", inFolds: protocol.ByFold{}}
	for at, f := range folds {
		var obs []memory.TogetherObservation
		for _, i := range f.Train {
			obs = append(obs, train[i].Observation)
		}
		model, err := memory.FitTogether(obs, nil)
		if err != nil {
			return nil, err
		}
		margin, err := model.Margin(2, reserveRisk)
		if err != nil {
			return nil, err
		}
		for _, i := range f.Test {
			o := t[i].Observation
			sum.add(at, float64(o.Together), float64(o.Solo), float64(o.Solo))
			ours.add(at, float64(o.Together), float64(o.Solo), float64(o.Solo+margin))
			for k, risk := range calibrationRisks {
				margin, err := model.Margin(2, risk)
				if err != nil {
					return nil, err
				}
				if o.Together > o.Solo+margin {
					ours.exceeded[k]++
				}
			}
		}
	}
	return []protocol.Result{ours.result(), sum.result()}, nil
}
