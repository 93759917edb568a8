package interference

import (
	"math"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
)

// result scores one model: errors of single speeds, decisions about pairs, the
// share of rows within the interval, and the matching.
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
				p.Points = append(p.Points, protocol.Point{Seen: v, Predicted: guess.speed[i], Covered: v >= guess.lo[i] && v <= guess.hi[i]})
			}
		}
	}
	return p
}

// errors are the metrics of single speeds and of decisions about pairs, on one
// GPU or, with "", on all.
func (t *speedTable) errors(g *speedGuesses, gpu string) (protocol.Result, error) {
	var seen, predicted []float64
	var covered float64
	var min85, sum18 []judged
	inFolds := protocol.ByFold{}
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
			inFolds.Add(p.fold, o.GPU, inside, math.Abs(v-p.speed[i]))
		}
		if !both {
			continue
		}
		min85 = append(min85, judged{p.fold, min(p.speed[0], p.speed[1]), min(truth[0], truth[1]) >= 0.85})
		sum18 = append(sum18, judged{p.fold, p.speed[0] + p.speed[1], truth[0]+truth[1] >= 1.8})
	}
	r, err := predict.Score(seen, predicted, nil)
	if err != nil {
		return protocol.Result{}, err
	}
	acc85, nested85 := plainAndNested(min85, 0.85)
	acc18, nested18 := plainAndNested(sum18, 1.8)
	out := protocol.Result{Model: g.model, N: r.N}
	out.Add("mae", r.MAE)
	out.Add("rmse", r.RMSE)
	out.Add("r2", r.R2)
	out.Add("acc_min85", acc85)
	out.Add("acc_sum18", acc18)
	out.Add("nested_acc_min85", nested85)
	out.Add("nested_acc_sum18", nested18)
	out.Add("coverage_pct", 100*covered/float64(max(1, r.N))) // 0 for the baselines, which promise nothing
	out.Add("worst_coverage_pct", 100*inFolds.WorstCover())
	out.Add("groups", float64(inFolds.Groups()))
	median, worst := inFolds.Off()
	out.Add("median_group_mae", median)
	out.Add("worst_group_mae", worst)
	return out, nil
}

// judged is one decision: what a model said, in which fold, and what was right.
type judged struct {
	fold  int
	said  float64
	right bool
}

// thresholds are tried to either side of the plain one, so far apart.
const (
	thresholds    = 6
	thresholdStep = 0.01
)

// plainAndNested are the shares of right decisions by the plain threshold, and when
// each fold is judged by the threshold that does best on the other folds, the one
// nearest to the plain one of equals: what a threshold chosen on data is worth where it
// was not chosen. With one fold both are the same.
func plainAndNested(all []judged, plain float64) (byPlain, byNested float64) {
	hits := make(map[int][2*thresholds + 1]float64) // by fold
	var sum [2*thresholds + 1]float64
	for _, d := range all {
		of := hits[d.fold]
		for k := range of {
			if (d.said >= plain+thresholdStep*float64(k-thresholds)) == d.right {
				of[k]++
				sum[k]++
			}
		}
		hits[d.fold] = of
	}
	for _, of := range hits {
		best := thresholds
		for away := 1; away <= thresholds && len(hits) > 1; away++ {
			for _, k := range [2]int{thresholds - away, thresholds + away} {
				if sum[k]-of[k] > sum[best]-of[best] {
					best = k
				}
			}
		}
		byNested += of[best]
	}
	n := float64(max(1, len(all)))
	return sum[thresholds] / n, byNested / n
}
