package interference

import (
	"math"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
)

// result scores one model: errors of single speeds, the share of them within the
// interval, and the matching.
func (t *speedTable) result(g *speedGuesses, draws []draw) (protocol.Result, error) {
	out, err := t.errors(g, "")
	if err != nil {
		return protocol.Result{}, err
	}
	sum, count := map[string]float64{}, map[string]float64{}
	folds, inFold := map[string]float64{}, map[string]float64{}
	for k := range draws {
		d := &draws[k]
		share, err := d.fraction(d.guesses(t, g.pairs))
		if err != nil {
			return protocol.Result{}, err
		}
		inFold[d.gpu] += share
		count[d.gpu]++
		if k+1 < len(draws) && draws[k+1].fold == d.fold && draws[k+1].gpu == d.gpu {
			continue
		}
		share = inFold[d.gpu] / count[d.gpu]
		for _, key := range []string{"", d.gpu} {
			sum[key] += share
			folds[key]++
		}
		delete(inFold, d.gpu)
		delete(count, d.gpu)
	}
	out.Add("matching_fraction", sum[""]/max(1, folds[""]))
	out.Picture = t.picture(g)
	if len(t.gpus) < 2 {
		return out, nil
	}
	for _, gpu := range t.gpus {
		one, err := t.errors(g, gpu)
		if err != nil {
			return protocol.Result{}, err
		}
		out.Add("mae_"+gpu, one.Metrics[0].Value)
		out.Add("matching_fraction_"+gpu, sum[gpu]/max(1, folds[gpu]))
	}
	if g.interval {
		err = t.addPromises(&out, g, draws)
	}
	return out, err
}

// picture is what is drawn of the model with intervals.
func (t *speedTable) picture(g *speedGuesses) protocol.Picture {
	if !g.interval {
		return protocol.Picture{}
	}
	p := protocol.Picture{Unit: "speed beside the other", Interval: true}
	for _, guess := range g.pairs {
		for i, s := range t.rows[guess.row].Observation.Speeds {
			if v, ok := s.Get(); ok {
				p.Points = append(p.Points, protocol.Point{Seen: v, Predicted: guess.said[i].Value, Covered: v >= guess.said[i].Lo && v <= guess.said[i].Hi})
			}
		}
	}
	return p
}

// errors are the metrics of single speeds, on one GPU or, with "", on all.
func (t *speedTable) errors(g *speedGuesses, gpu string) (protocol.Result, error) {
	var seen, predicted []float64
	var all protocol.Tally
	for _, p := range g.pairs {
		o := &t.rows[p.row].Observation
		if gpu != "" && o.GPU != gpu {
			continue
		}
		for i, e := range p.said {
			if v, ok := o.Speeds[i].Get(); ok {
				seen, predicted = append(seen, v), append(predicted, e.Value)
				all.Add(p.fold, o.GPU, g.interval && v >= e.Lo && v <= e.Hi, math.Abs(v-e.Value))
			}
		}
	}
	r, err := predict.Score(seen, predicted, nil)
	if err != nil {
		return protocol.Result{}, err
	}
	out := protocol.Result{Model: g.model, N: r.N}
	out.Add("mae", r.MAE)
	out.Add("rmse", r.RMSE)
	out.Add("r2", r.R2)
	out.Add("coverage_pct", 100*all.Cover()) // 0 for the baselines, which promise nothing
	out.Add("worst_coverage_pct", 100*all.WorstCover())
	out.Add("groups", float64(all.Groups()))
	median, worst := all.FoldErrors()
	out.Add("median_group_mae", median)
	out.Add("worst_group_mae", worst)
	return out, nil
}
