package utilization

import (
	"math"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/utilization"
)

// Sets are how busy tasks alone kept their GPU: the rows of the memory sets that tell.
func Sets() []protocol.Set {
	var out []protocol.Set
	for _, of := range []string{"mlp", "cnn"} {
		s := protocol.NewSet("utilization_"+of, func(folder, base string) (utilizationTable, error) {
			return protocol.OpenFile(folder, base, dataset.ReadUtilization)
		})
		s.File = "memory_" + of
		out = append(out, s)
	}
	return out
}

type utilizationTable []utilization.Observation

func (t utilizationTable) Size() int { return len(t) }

func (t utilizationTable) Splits() []protocol.Split {
	return protocol.RandomAndFamily(len(t), func(i int) string { return t[i].Group })
}

// useScores collects what one model predicted of SM activity and GPU busy.
type useScores struct {
	model             string
	sm, smSaid        []float64
	covered           int
	points            []protocol.Point
	busyOff, busyRows float64 // squared differences of log(1 + per cent)
}

func (s *useScores) add(o *utilization.Observation, sm, busy predict.Estimate) {
	seen := o.Use.SMActive.Or(0)
	s.sm, s.smSaid = append(s.sm, seen), append(s.smSaid, sm.Value)
	held := seen >= sm.Lo && seen <= sm.Hi
	if held {
		s.covered++
	}
	if s.model == "colloc" {
		s.points = append(s.points, protocol.Point{Seen: seen, Predicted: sm.Value, Covered: held})
	}
	if v, ok := o.Use.GPUBusy.Get(); ok {
		d := math.Log1p(100*v) - math.Log1p(100*busy.Value)
		s.busyOff += d * d
		s.busyRows++
	}
}

func (t utilizationTable) Score(train utilizationTable, folds []protocol.Fold) ([]protocol.Result, error) {
	ours, rule, mean := useScores{model: "colloc"}, useScores{model: "roofline"}, useScores{model: "mean"}
	var byRule utilization.Predictor
	for _, f := range folds {
		own := protocol.Select(train, f.Train)
		model, err := utilization.Fit(own, nil)
		if err != nil {
			return nil, err
		}
		sm, busy := meanUse(own)
		for _, i := range f.Test {
			o := &t[i]
			said, err := model.Solo(&o.Spec, &o.GPU)
			if err != nil {
				return nil, err
			}
			ours.add(o, said.SMActive, said.GPUBusy)
			if said, err = byRule.Solo(&o.Spec, &o.GPU); err != nil {
				return nil, err
			}
			rule.add(o, said.SMActive, said.GPUBusy)
			mean.add(o, predict.Estimate{Value: sm}, predict.Estimate{Value: busy})
		}
	}
	var results []protocol.Result
	for _, s := range []*useScores{&ours, &rule, &mean} {
		r, err := s.result()
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// meanUse is the baseline that ignores the task.
func meanUse(rows []utilization.Observation) (sm, busy float64) {
	for i := range rows {
		sm += rows[i].Use.SMActive.Or(0)
		busy += rows[i].Use.GPUBusy.Or(0)
	}
	n := float64(max(1, len(rows)))
	return sm / n, busy / n
}

func (s *useScores) result() (protocol.Result, error) {
	r, err := predict.Score(s.sm, s.smSaid, nil)
	if err != nil {
		return protocol.Result{}, err
	}
	out := protocol.Result{Model: s.model, N: r.N, Picture: protocol.Picture{Unit: "share of SM time", Points: s.points, Interval: true}}
	out.Add("r2_sm_active", r.R2)
	out.Add("mae_sm_active", r.MAE)
	out.Add("rmsle_gpu_util", math.Sqrt(s.busyOff/max(1, s.busyRows)))
	out.Add("coverage90_pct", 100*float64(s.covered)/float64(max(1, r.N)))
	return out, nil
}
