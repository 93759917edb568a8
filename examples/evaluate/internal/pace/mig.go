package pace

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/pace"
)

// openMIG reads a set of tasks on slices. Its models are also fitted to the rows of the
// other set, fitOn, where the training folder has it.
func openMIG(folder, base, fitOn string) (*migTable, error) {
	rows, err := protocol.OpenFile(folder, base, dataset.ReadMIG, func(r dataset.MIGRow) bool {
		return r.Observation.Slice.Compute >= 7 || r.Observation.Speed <= 0 // the whole GPU is the reference
	})
	if err != nil {
		return nil, err
	}
	t := &migTable{rows: rows}
	more, err := protocol.OpenFile(folder, fitOn, dataset.ReadMIG, func(r dataset.MIGRow) bool { return r.Excluded != "" })
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil // the folder of -test has no training files
	}
	for _, r := range more {
		t.fitOn = append(t.fitOn, r.Observation)
	}
	return t, err
}

type migTable struct {
	rows  []dataset.MIGRow
	fitOn []pace.MIGObservation
}

func (t *migTable) Size() int { return len(t.rows) }

func (t *migTable) Splits() []protocol.Split {
	return protocol.RandomAndFamily(t.Size(), func(i int) string { return t.rows[i].Observation.Group })
}

func (t *migTable) Score(train *migTable, folds []protocol.Fold) ([]protocol.Result, error) {
	all := []guesses{{model: "colloc"}, {model: "colloc_one_probe"}, {model: "proportional"}, {model: "mean"}}
	behind := make(map[string][2]float64) // by network: the sum of errors over those of the proportional rule, and their number
	for _, f := range folds {
		obs, mean := train.learn(f.Train)
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
			rule := float64(o.Slice.Compute) / 7
			if b := behind[o.Group]; !erratic {
				behind[o.Group] = [2]float64{b[0] + math.Abs(e.Value-seen) - math.Abs(rule-seen), b[1] + 1}
			}
			if p, ok := t.probeOf(i); ok {
				if e, err = model.SpeedFromProbe(o.Profile, &o.GPU, o.Slice, p.Slice, p.Speed); err != nil {
					return nil, fmt.Errorf("line %d: %w", r.Line, err)
				}
				all[1].add(seen, e, true, erratic)
			}
			all[2].add(seen, predict.Estimate{Value: rule}, false, erratic)
			all[3].add(seen, predict.Estimate{Value: mean[o.Slice.Compute]}, false, erratic)
		}
	}
	var results []protocol.Result
	for i := range all {
		r, err := all[i].result()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			r.Add("worst_behind_proportional", worst(behind))
		}
		results = append(results, r)
	}
	return results, nil
}

// learn returns what a model is fitted on, with those of the rows, and their mean speed by compute slices.
func (t *migTable) learn(rows []int) ([]pace.MIGObservation, map[int]float64) {
	obs := slices.Clone(t.fitOn)
	mean, n := make(map[int]float64), make(map[int]float64)
	for _, i := range rows {
		if r := &t.rows[i]; r.Excluded == "" {
			obs = append(obs, r.Observation)
			c := r.Observation.Slice.Compute
			n[c]++
			mean[c] += (r.Observation.Speed - mean[c]) / n[c]
		}
	}
	return obs, mean
}

// worst is the largest mean of a network, of sums and their numbers; below 0 the model is ahead on every one.
func worst(behind map[string][2]float64) float64 {
	most := math.Inf(-1)
	for _, b := range behind {
		most = max(most, b[0]/b[1])
	}
	return most
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
