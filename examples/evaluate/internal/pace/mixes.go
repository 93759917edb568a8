package pace

import (
	"fmt"
	"math"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/pace"
)

// mixTable is mixes of tasks under MPS and on slices.
type mixTable []dataset.MixRow

func (t mixTable) Size() int { return len(t) }

// Splits deals mixes at random: a mix has no family.
func (t mixTable) Splits() []protocol.Split {
	return []protocol.Split{{Name: "random", Folds: protocol.RandomFolds(t.Size())}}
}

func (t mixTable) Score(train mixTable, folds []protocol.Fold) ([]protocol.Result, error) {
	ours := [3]guesses{{model: "colloc"}, {model: "colloc"}, {model: "colloc"}}
	mean := [3]guesses{{model: "mean"}, {model: "mean"}, {model: "mean"}}
	for _, f := range folds {
		mixes, middle := train.training(f.Train)
		model, err := pace.FitMPSProbe(mixes, nil)
		if err != nil {
			return nil, err
		}
		for _, i := range f.Test {
			mix := t[i].Mix
			got, err := model.Speeds(mix.Probes)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", t[i].Line, err)
			}
			for s := range ours {
				for j, e := range got[s] {
					ours[s].add(mix.Slices[s][j], e, true, false)
					mean[s].add(mix.Slices[s][j], predict.Estimate{Value: middle[s]}, false, false)
				}
			}
		}
	}
	a, err := averaged(ours)
	if err != nil {
		return nil, err
	}
	b, err := averaged(mean)
	return []protocol.Result{a, b}, err
}

// training returns the mixes of the rows and the mean speed of each target.
func (t mixTable) training(rows []int) (mixes []pace.Mix, middle [3]float64) {
	var n [3]float64
	for _, i := range rows {
		mix := t[i].Mix
		mixes = append(mixes, mix)
		for s := range middle {
			for _, v := range mix.Slices[s] {
				n[s]++
				middle[s] += (v - middle[s]) / n[s]
			}
		}
	}
	return mixes, middle
}

// averaged is the mean of each metric over the three targets, and the mae of each.
func averaged(targets [3]guesses) (protocol.Result, error) {
	var out protocol.Result
	var each [len(targets)]float64 // mae
	for s := range targets {
		r, err := targets[s].result()
		if err != nil {
			return r, err
		}
		r.Metrics = r.Metrics[:4]
		if s == 0 {
			out = protocol.Result{Model: r.Model, N: r.N, Metrics: make([]protocol.Metric, len(r.Metrics)), Picture: protocol.Picture{Unit: r.Unit, Interval: r.Interval}}
		}
		for k, m := range r.Metrics {
			out.Metrics[k].Name = m.Name
			out.Metrics[k].Value += m.Value / float64(len(targets))
		}
		out.Points = append(out.Points, r.Points...)
		each[s] = r.Metrics[0].Value
	}
	for s, mae := range each {
		out.Add(fmt.Sprintf("mae_row%d", s), mae)
	}
	for _, m := range out.Metrics {
		if math.IsNaN(m.Value) {
			return out, fmt.Errorf("%s is not a number", m.Name)
		}
	}
	return out, nil
}
