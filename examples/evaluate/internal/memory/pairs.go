package memory

import (
	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/memory"
)

// togetherTable is the memory of pairs beside that of their tasks alone.
type togetherTable []dataset.TogetherRow

func (t togetherTable) Size() int { return len(t) }

// Splits deals pairs at random and leaves out all pairs that touch a family.
func (t togetherTable) Splits() []protocol.Split {
	return []protocol.Split{
		{Name: "random", Folds: protocol.RandomFolds(len(t))},
		{Name: "family", Folds: protocol.LeaveOut(len(t), 0, func(i int) []string { return t[i].Groups })},
	}
}

// Score reserves the sum and the fitted margin; the baseline reserves the sum.
func (t togetherTable) Score(train togetherTable, folds []protocol.Fold) ([]protocol.Result, error) {
	ours, sum := &memoryScores{model: "colloc"}, &memoryScores{model: "sum"}
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
