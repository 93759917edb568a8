package main

import (
	"errors"
	"fmt"
	"math"

	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/pace"
)

// migSets are single tasks on slices, and mixes under MPS and on slices.
func migSets() []set { return []set{migSet{}, mixSet{}} }

type migSet struct{}

func (migSet) name() string { return "mig_miso" }
func (migSet) file() string { return "mig_miso" }

func (migSet) open(folder, base string) (table, error) {
	rows, err := openFile(folder, base, dataset.ReadMIG)
	if err != nil {
		return nil, err
	}
	t := &migTable{}
	for _, r := range rows {
		if r.Observation.Slice.Compute < 7 { // the whole GPU is the reference
			t.rows = append(t.rows, r)
		}
	}
	return t, nil
}

type migTable struct{ rows []dataset.MIGRow }

func (t *migTable) size() int           { return len(t.rows) }
func (t *migTable) family(i int) string { return t.rows[i].Observation.Group }

// guesses collects what one model says of scalar targets.
type guesses struct {
	model           string
	seen, predicted []float64
	lo, hi          []float64 // empty for a model without intervals
	erratic         []bool
}

// picture is what is drawn of a model with intervals.
func (g *guesses) picture() picture {
	p := picture{unit: "speed on the slice", interval: true}
	for i, erratic := range g.erratic {
		if len(g.lo) > 0 && !erratic {
			p.points = append(p.points, guessed{g.seen[i], g.predicted[i], g.covers(i)})
		}
	}
	return p
}

// covers reports whether the interval of a row held.
func (g *guesses) covers(i int) bool {
	return len(g.lo) > 0 && g.seen[i] >= g.lo[i]-1e-9 && g.seen[i] <= g.hi[i]+1e-9
}

func (g *guesses) add(seen float64, e predict.Estimate, interval, erratic bool) {
	g.seen, g.predicted, g.erratic = append(g.seen, seen), append(g.predicted, e.Value), append(g.erratic, erratic)
	if interval {
		g.lo, g.hi = append(g.lo, e.Lo), append(g.hi, e.Hi)
	}
}

// result scores the rows that are not erratic, and mae_all with them.
func (g *guesses) result() (result, error) {
	var seen, predicted []float64
	var covered float64
	for i, erratic := range g.erratic {
		if erratic {
			continue
		}
		seen, predicted = append(seen, g.seen[i]), append(predicted, g.predicted[i])
		if g.covers(i) {
			covered++
		}
	}
	good, err := predict.Score(seen, predicted, nil)
	if err != nil {
		return result{}, err
	}
	all, err := predict.Score(g.seen, g.predicted, nil)
	r := result{model: g.model, n: good.N, metrics: []metric{
		{"mae", good.MAE},
		{"rmse", good.RMSE},
		{"r2", good.R2},
		{"coverage_pct", 100 * covered / float64(max(1, good.N))},
		{"mae_all", all.MAE},
	}}
	if g.model == "colloc" {
		r.picture = g.picture()
	}
	return r, err
}

func (t *migTable) score(from table, folds []fold) ([]result, error) {
	train, ok := from.(*migTable)
	if !ok {
		return nil, errors.New("training rows are of another set")
	}
	all := []guesses{{model: "colloc"}, {model: "colloc_one_probe"}, {model: "proportional"}, {model: "mean"}}
	for _, f := range folds {
		var obs []pace.MIGObservation
		mean := map[int]float64{}
		n := map[int]float64{}
		for _, i := range f.Train {
			if r := &train.rows[i]; r.Excluded == "" {
				obs = append(obs, r.Observation)
				c := r.Observation.Slice.Compute
				n[c]++
				mean[c] += (r.Observation.Speed - mean[c]) / n[c]
			}
		}
		model, err := pace.FitMIGSpeed(obs, nil)
		if err != nil {
			return nil, err
		}
		for _, i := range f.Test {
			r := &t.rows[i]
			o := &r.Observation
			e, err := model.Speed(o.Profile, &o.GPU, o.Slice)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", r.Line, err)
			}
			seen, erratic := min(1, o.Speed), r.Excluded != ""
			all[0].add(seen, e, true, erratic)
			if p, ok := t.probeOf(i); ok {
				if e, err = model.SpeedFromProbe(o.Profile, &o.GPU, o.Slice, p.Slice, p.Speed); err != nil {
					return nil, fmt.Errorf("line %d: %w", r.Line, err)
				}
				all[1].add(seen, e, true, erratic)
			}
			all[2].add(seen, predict.Estimate{Value: float64(o.Slice.Compute) / 7}, false, erratic)
			all[3].add(seen, predict.Estimate{Value: mean[o.Slice.Compute]}, false, erratic)
		}
	}
	var results []result
	for i := range all {
		r, err := all[i].result()
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// probeOf finds the same task on the slice with three compute slices.
func (t *migTable) probeOf(i int) (pace.MIGObservation, bool) {
	for k := range t.rows {
		o := t.rows[k].Observation
		if k != i && o.Profile == t.rows[i].Observation.Profile && o.Slice.Compute == 3 {
			return o, true
		}
	}
	return pace.MIGObservation{}, false
}

type mixSet struct{}

func (mixSet) name() string { return "mps_to_mig_miso" }
func (mixSet) file() string { return "mps_to_mig_miso" }

func (mixSet) open(folder, base string) (table, error) {
	rows, err := openFile(folder, base, dataset.ReadMixes)
	return &mixTable{rows}, err
}

type mixTable struct{ rows []dataset.MixRow }

func (t *mixTable) size() int           { return len(t.rows) }
func (t *mixTable) family(i int) string { return t.rows[i].Name }

// splits deals mixes at random: a mix has no family.
func (t *mixTable) splits() []split { return []split{{"random", randomFolds(t.size())}} }

func (t *mixTable) score(from table, folds []fold) ([]result, error) {
	train, ok := from.(*mixTable)
	if !ok {
		return nil, errors.New("training rows are of another set")
	}
	ours := [3]guesses{{model: "colloc"}, {model: "colloc"}, {model: "colloc"}}
	mean := [3]guesses{{model: "mean"}, {model: "mean"}, {model: "mean"}}
	for _, f := range folds {
		mixes, middle := train.training(f.Train)
		model, err := pace.FitMPSProbe(mixes, nil)
		if err != nil {
			return nil, err
		}
		for _, i := range f.Test {
			mix := t.rows[i].Mix
			got, err := model.Speeds(mix.Probes)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", t.rows[i].Line, err)
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
	return []result{a, b}, err
}

// training returns the mixes of the rows and the mean speed of each target.
func (t *mixTable) training(rows []int) (mixes []pace.Mix, middle [3]float64) {
	var n [3]float64
	for _, i := range rows {
		mix := t.rows[i].Mix
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
func averaged(targets [3]guesses) (result, error) {
	var out result
	var each []metric
	for s := range targets {
		r, err := targets[s].result()
		if err != nil {
			return r, err
		}
		r.metrics = r.metrics[:4]
		if s == 0 {
			out = result{model: r.model, n: r.n, metrics: make([]metric, len(r.metrics)), picture: picture{unit: r.unit, interval: r.interval}}
		}
		for k, m := range r.metrics {
			out.metrics[k].name = m.name
			out.metrics[k].value += m.value / float64(len(targets))
		}
		out.points = append(out.points, r.points...)
		each = append(each, metric{fmt.Sprintf("mae_row%d", s), r.metrics[0].value})
	}
	out.metrics = append(out.metrics, each...)
	for _, m := range out.metrics {
		if math.IsNaN(m.value) {
			return out, fmt.Errorf("%s is not a number", m.name)
		}
	}
	return out, nil
}
