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

// besideSet is trainings beside a loaded server on one A100.
type besideSet struct{}

func (besideSet) Name() string { return "inference_beside_training" }
func (besideSet) File() string { return "inference_beside_training" }

func (s besideSet) Open(folder, base string) (protocol.Table, error) {
	rows, err := protocol.OpenFile(folder, base, dataset.ReadBeside)
	if err != nil {
		return nil, err
	}
	t := &besideTable{}
	for _, r := range rows {
		if r.Excluded == "" {
			t.rows = append(t.rows, r)
		}
	}
	return t, nil
}

type besideTable struct{ rows []dataset.BesideRow }

func (t *besideTable) Size() int           { return len(t.rows) }
func (t *besideTable) Family(i int) string { return t.rows[i].Training.Spec.Model.Name }

// Splits leaves each training and each server out in turn.
func (t *besideTable) Splits() []protocol.Split {
	families := make([][]string, len(t.rows))
	for i, r := range t.rows {
		families[i] = []string{r.Training.Spec.Model.Name, r.Server.Spec.Model.Name}
	}
	return []protocol.Split{{Name: "family", Folds: predict.GroupFolds(families, 0)}}
}

// besideGuess is what a model says of a row: the speed of the training and the mean
// latency, with intervals where it has them.
type besideGuess struct{ speed, latency predict.Estimate }

// besideModel is fitted to rows and asked about others.
type besideModel struct {
	name string
	fit  func(train []*dataset.BesideRow) (func(r *dataset.BesideRow) (besideGuess, error), error)
}

func besideModels() []besideModel {
	return []besideModel{
		{"colloc", fitOurBeside},
		{"proportional", func([]*dataset.BesideRow) (func(r *dataset.BesideRow) (besideGuess, error), error) {
			return func(r *dataset.BesideRow) (besideGuess, error) {
				v := 1 / max(1, r.Training.Vector.Or(profile.MeanGPUBusy, 1)+r.Server.Vector.Or(profile.MeanGPUBusy, 1))
				return besideGuess{predict.Estimate{Value: v}, predict.Estimate{Value: r.Alone.Seconds() / v}}, nil
			}, nil
		}},
		{"mean", func(train []*dataset.BesideRow) (func(r *dataset.BesideRow) (besideGuess, error), error) {
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
func fitOurBeside([]*dataset.BesideRow) (func(r *dataset.BesideRow) (besideGuess, error), error) {
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

func (t *besideTable) Score(from protocol.Table, folds []protocol.Fold) ([]protocol.Result, error) {
	train, ok := from.(*besideTable)
	if !ok {
		return nil, protocol.ErrSet
	}
	var out []protocol.Result
	for _, m := range besideModels() {
		var score [2]besideScore // of turns and of MPS
		r := protocol.Result{Model: m.name}
		for _, f := range folds {
			var rows []*dataset.BesideRow
			for _, i := range f.Train {
				rows = append(rows, &train.rows[i])
			}
			guess, err := m.fit(rows)
			if err != nil {
				return nil, err
			}
			for _, i := range f.Test {
				row := &t.rows[i]
				g, err := guess(row)
				if err != nil {
					return nil, err
				}
				r.N++
				by := &score[0]
				if row.Mechanism == profile.MPS {
					by = &score[1]
				}
				by.add(row, &g)
			}
		}
		for k, name := range [2]string{"turns", "mps"} {
			s := &score[k]
			n := max(1, s.n)
			r.Add("mae_"+name, s.speed/n)
			r.Add("latency_off_pct_"+name, 100*s.latency/n)
			r.Add("coverage_pct_"+name, 100*s.inside/n) // 0 for the baselines, which promise nothing
			r.Add("latency_coverage_pct_"+name, 100*s.latencyInside/n)
		}
		out = append(out, r)
	}
	return out, nil
}

// besideScore sums up errors of one mechanism.
type besideScore struct{ n, speed, latency, inside, latencyInside float64 }

func (s *besideScore) add(row *dataset.BesideRow, g *besideGuess) {
	s.n++
	s.speed += math.Abs(g.speed.Value - row.Speed)
	seen := row.Latency.Seconds()
	s.latency += math.Abs(g.latency.Value/seen - 1)
	if g.speed.Lo <= row.Speed && row.Speed <= g.speed.Hi {
		s.inside++
	}
	if g.latency.Lo <= seen && seen <= g.latency.Hi {
		s.latencyInside++
	}
}
