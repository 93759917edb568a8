package main

import (
	"example.com/colloc/predict"
)

// result scores one model: errors of single speeds, decisions about pairs, the
// share of rows within the interval, and the matching.
func (t *speedTable) result(g *speedGuesses, draws []draw) (result, error) {
	metrics, n, err := t.errors(g, "")
	if err != nil {
		return result{}, err
	}
	sum, count := map[string]float64{}, map[string]float64{}
	folds, inFold := map[string]float64{}, map[string]float64{}
	for k := range draws {
		d := &draws[k]
		share, err := d.fraction(d.guesses(t, g.pairs))
		if err != nil {
			return result{}, err
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
	metrics = append(metrics, metric{"matching_fraction", sum[""] / max(1, folds[""])})
	out := result{model: g.model, n: n, metrics: metrics, picture: t.picture(g)}
	if len(t.gpus) < 2 {
		return out, nil
	}
	for _, gpu := range t.gpus {
		one, _, err := t.errors(g, gpu)
		if err != nil {
			return result{}, err
		}
		out.metrics = append(out.metrics, metric{"mae_" + gpu, one[0].value}, metric{"matching_fraction_" + gpu, sum[gpu] / max(1, folds[gpu])})
	}
	return out, nil
}

// picture is what is drawn of the model with intervals.
func (t *speedTable) picture(g *speedGuesses) picture {
	if !g.interval {
		return picture{}
	}
	p := picture{unit: "speed beside the other", interval: true}
	for _, guess := range g.pairs {
		for i, s := range t.rows[guess.row].Observation.Speeds {
			if v, ok := s.Get(); ok {
				p.points = append(p.points, guessed{v, guess.speed[i], v >= guess.lo[i] && v <= guess.hi[i]})
			}
		}
	}
	return p
}

// errors are the metrics of single speeds and of decisions about pairs, on one
// GPU or, with "", on all.
func (t *speedTable) errors(g *speedGuesses, gpu string) ([]metric, int, error) {
	var seen, predicted []float64
	var covered float64
	var min85, sum18 []judged
	inFolds := coverage{}
	for _, p := range g.pairs {
		o := &t.rows[p.row].Observation
		if gpu != "" && o.GPU != gpu {
			continue
		}
		var truth [2]float64
		both := true
		for i := range p.speed {
			v, ok := o.Speeds[i].Get()
			truth[i], both = v, both && ok
			if !ok {
				continue
			}
			seen, predicted = append(seen, v), append(predicted, p.speed[i])
			inside := g.interval && v >= p.lo[i] && v <= p.hi[i]
			if inside {
				covered++
			}
			inFolds.add(p.fold, o.GPU, inside)
		}
		if !both {
			continue
		}
		min85 = append(min85, judged{p.fold, min(p.speed[0], p.speed[1]), min(truth[0], truth[1]) >= 0.85})
		sum18 = append(sum18, judged{p.fold, p.speed[0] + p.speed[1], truth[0]+truth[1] >= 1.8})
	}
	r, err := predict.Score(seen, predicted, nil)
	if err != nil {
		return nil, 0, err
	}
	acc85, nested85 := plainAndNested(min85, 0.85)
	acc18, nested18 := plainAndNested(sum18, 1.8)
	m := []metric{{"mae", r.MAE}, {"rmse", r.RMSE}, {"r2", r.R2}, {"acc_min85", acc85}, {"acc_sum18", acc18}}
	m = append(m, metric{"nested_acc_min85", nested85}, metric{"nested_acc_sum18", nested18})
	promised := 100 * covered / float64(max(1, r.N)) // 0 for the baselines, which promise nothing
	m = append(m, metric{"coverage_pct", promised}, metric{"worst_coverage_pct", 100 * inFolds.worst()})
	return append(m, metric{"groups", float64(inFolds.groups())}), r.N, nil
}
