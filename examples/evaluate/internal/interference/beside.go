package interference

import (
	"math"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// besideTable is trainings beside a loaded server on one A100.
type besideTable []dataset.BesideRow

func (t besideTable) Size() int { return len(t) }

// Splits leaves each training and each server out in turn.
func (t besideTable) Splits() []protocol.Split {
	return []protocol.Split{{Name: "family", Folds: protocol.LeaveOut(len(t), 0, func(i int) []string {
		return []string{t[i].Training.Spec.Model.Name, t[i].Server.Spec.Model.Name}
	})}}
}

// besideGuess is what a model says of a row: the speed of the training and the mean
// latency, with intervals where it has them.
type besideGuess struct{ speed, latency predict.Estimate }

// besideModel is fitted to rows and asked about others.
type besideModel struct {
	name string
	fit  func(train []dataset.BesideRow) (func(r *dataset.BesideRow) (besideGuess, error), error)
}

func besideModels() []besideModel {
	return []besideModel{
		{"colloc", fitOurBeside},
		{"proportional", func([]dataset.BesideRow) (func(r *dataset.BesideRow) (besideGuess, error), error) {
			return func(r *dataset.BesideRow) (besideGuess, error) {
				v := 1 / max(1, r.Training.Vector.Or(profile.MeanGPUBusy, 1)+r.Server.Vector.Or(profile.MeanGPUBusy, 1))
				return besideGuess{predict.Estimate{Value: v}, predict.Estimate{Value: r.Alone.Seconds() / v}}, nil
			}, nil
		}},
		{"mean", func(train []dataset.BesideRow) (func(r *dataset.BesideRow) (besideGuess, error), error) {
			var speed, stretch, n [profile.Mechanisms]float64
			for _, r := range train {
				speed[r.Mechanism] += r.Speed
				stretch[r.Mechanism] += r.Latency.Seconds() / r.Alone.Seconds()
				n[r.Mechanism]++
			}
			return func(r *dataset.BesideRow) (besideGuess, error) {
				m := r.Mechanism
				return besideGuess{predict.Estimate{Value: speed[m] / n[m]}, predict.Estimate{Value: r.Alone.Seconds() * stretch[m] / n[m]}}, nil
			}, nil
		}},
	}
}

// fitOurBeside is this library.
func fitOurBeside([]dataset.BesideRow) (func(r *dataset.BesideRow) (besideGuess, error), error) {
	m, err := pretrained.Interference()
	if err != nil {
		return nil, err
	}
	return func(r *dataset.BesideRow) (besideGuess, error) {
		e, err := m.Speeds(&r.Training.GPU, r.Mechanism, []*profile.Profile{r.Training, r.Server}, nil)
		if err != nil {
			return besideGuess{}, err
		}
		mean, _ := interference.Latency(r.Server.Spec.Server, r.Mechanism, e[1])
		return besideGuess{e[0], mean}, nil
	}, nil
}

func (t besideTable) Score(train besideTable, folds []protocol.Fold) ([]protocol.Result, error) {
	var out []protocol.Result
	for _, m := range besideModels() {
		var speed, latency [2]protocol.Tally // of turns and of MPS
		r := protocol.Result{Model: m.name}
		for _, f := range folds {
			guess, err := m.fit(protocol.Select(train, f.Train))
			if err != nil {
				return nil, err
			}
			for _, i := range f.Test {
				row := &t[i]
				g, err := guess(row)
				if err != nil {
					return nil, err
				}
				r.N++
				by := 0
				if row.Mechanism == profile.MPS {
					by = 1
				}
				seen := row.Latency.Seconds()
				speed[by].Estimate(0, "", row.Speed, g.speed)
				latency[by].Add(0, "", g.latency.Lo <= seen && seen <= g.latency.Hi, math.Abs(g.latency.Value/seen-1))
			}
		}
		for k, name := range [2]string{"turns", "mps"} {
			r.Add("mae_"+name, speed[k].Mean())
			r.Add("latency_off_pct_"+name, 100*latency[k].Mean())
			r.Add("coverage_pct_"+name, 100*speed[k].Cover()) // 0 for the baselines, which promise nothing
			r.Add("latency_coverage_pct_"+name, 100*latency[k].Cover())
		}
		out = append(out, r)
	}
	return out, nil
}
