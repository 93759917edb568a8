package pace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/folds"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/predict/internal/trees"
)

// MPSProbe predicts how fast the tasks of a mix run on MIG slices from short
// runs of the whole mix under MPS at several thread percentages, so that no
// task has to be stopped and no slice created: the idea of MISO (Li et al. 2022,
// DOI 10.1145/3542929.3563510), here with boosted trees instead of a
// convolutional network. All speeds are relative: what matters is each task's
// own speeds and how they stand among those of its mix.
//
// An MPSProbe never changes and is safe for concurrent use. The zero value has
// seen nothing and returns an error.
type MPSProbe struct {
	confidence float64
	provenance string
	targets    []probeTarget
	probes     int
}

// probeTarget predicts the speed on one size of slice.
type probeTarget struct {
	Trees *trees.Ensemble `json:"trees"`
	Half  float64         `json:"half"` // conformal quantile of |error|
}

// A Mix is what was measured of the tasks that share one GPU.
type Mix struct {
	// Probes[t][i] is the relative speed of task i under MPS at the t-th thread percentage,
	// in (0, 1]. Every mix has the same percentages in the same order.
	Probes [][]float64
	// Slices[s][i] is the relative speed of task i on the s-th size of slice, in
	// (0, 1]; nil where it is to be predicted.
	Slices [][]float64
}

// MPSProbeOptions configure [FitMPSProbe]; nil and the zero value are the
// defaults.
type MPSProbeOptions struct {
	// Confidence is the probability that an interval covers; 0 means 0.9.
	Confidence float64
	// Provenance says where the mixes come from; it is saved.
	Provenance string
	// Seed chooses the folds of the calibration.
	Seed uint64
}

// FitMPSProbe fits one ensemble of trees per size of slice. It returns an error
// that names the mix for ragged or missing numbers and for speeds outside
// (0, 1]. O(sizes × tasks × probes).
func FitMPSProbe(mixes []Mix, o *MPSProbeOptions) (*MPSProbe, error) {
	var options MPSProbeOptions
	if o != nil {
		options = *o
	}
	if options.Confidence == 0 {
		options.Confidence = 0.9
	}
	if err := conformal.CheckConfidence(options.Confidence); err != nil {
		return nil, fmt.Errorf("predict: mps probe: %w", err)
	}
	if len(mixes) < 2 {
		return nil, fmt.Errorf("predict: mps probe: %d mixes, want at least 2", len(mixes))
	}
	for i := range mixes {
		if err := mixes[i].check(len(mixes[0].Probes), len(mixes[0].Slices)); err != nil {
			return nil, fmt.Errorf("predict: mps probe: mix %d: %w", i, err)
		}
	}
	m := &MPSProbe{confidence: options.Confidence, provenance: options.Provenance, probes: len(mixes[0].Probes)}
	fold := folds.Deal(len(mixes), 3, options.Seed)
	for s := range mixes[0].Slices {
		all := func(int) bool { return true }
		x, y := probeRows(mixes, s, all)
		var scores []float64
		for f := range 3 {
			in, seen := probeRows(mixes, s, func(i int) bool { return fold[i] != f })
			t := trees.Fit(in, seen, nil, probeTrees())
			out, want := probeRows(mixes, s, func(i int) bool { return fold[i] == f })
			for i := range out {
				scores = append(scores, math.Abs(t.Predict(out[i])-want[i]))
			}
		}
		half := num.Round9(conformal.New(scores).Upper(1 - options.Confidence))
		m.targets = append(m.targets, probeTarget{trees.Fit(x, y, nil, probeTrees()), half})
	}
	return m, nil
}

func probeTrees() trees.Options {
	return trees.Options{Rounds: 150, Depth: 6, Rate: 0.15, MinLeaf: 10, RowShare: 0.8, ColumnShare: 0.8, Huber: 0.02}
}

func (m *Mix) check(probes, sizes int) error {
	if len(m.Probes) == 0 || len(m.Probes) != probes || len(m.Slices) == 0 || len(m.Slices) != sizes {
		return fmt.Errorf("%d probes and %d slices, want %d and %d, both more than 0", len(m.Probes), len(m.Slices), probes, sizes)
	}
	return checkSpeeds(slices.Concat(m.Probes, m.Slices))
}

// checkSpeeds verifies that rows are as long as one another and hold speeds.
func checkSpeeds(rows [][]float64) error {
	for t, row := range rows {
		if len(row) == 0 || len(row) != len(rows[0]) {
			return fmt.Errorf("row %d has %d tasks, want %d and more than 0", t, len(row), len(rows[0]))
		}
		for i, v := range row {
			if !(v > 0 && v <= 1) {
				return fmt.Errorf("row %d, task %d: speed is %v, want more than 0 and at most 1", t, i, v)
			}
		}
	}
	return nil
}

// Speeds predicts the relative speed of every task on every size of slice:
// the result is indexed [size][task] as [Mix].Slices is. probes is as [Mix].Probes.
// O(tasks² × probes).
func (m *MPSProbe) Speeds(probes [][]float64) ([][]predict.Estimate, error) {
	if len(m.targets) == 0 {
		return nil, errors.New("predict: mps probe: nothing was fitted: use FitMPSProbe or LoadMPSProbe")
	}
	if len(probes) != m.probes {
		return nil, fmt.Errorf("predict: mps probe: %d thread percentages, want %d", len(probes), m.probes)
	}
	if err := checkSpeeds(probes); err != nil {
		return nil, fmt.Errorf("predict: mps probe: %w", err)
	}
	out := make([][]predict.Estimate, len(m.targets))
	for i := range probes[0] {
		row := probeFeatures(probes, i)
		for s, t := range m.targets {
			v := min(1, max(predict.LeastSpeed, t.Trees.Predict(row)))
			out[s] = append(out[s], predict.Estimate{
				Value: v, Lo: max(predict.LeastSpeed, v-t.Half), Hi: min(1, v+t.Half), Confidence: m.confidence,
				Source: predict.Source{Kind: predict.Measured},
			})
		}
	}
	return out, nil
}

// probeRows returns a row for each task of the chosen mixes.
func probeRows(mixes []Mix, slice int, chosen func(int) bool) (x [][]float64, y []float64) {
	for k := range mixes {
		if !chosen(k) {
			continue
		}
		for i, v := range mixes[k].Slices[slice] {
			x, y = append(x, probeFeatures(mixes[k].Probes, i)), append(y, v)
		}
	}
	return x, y
}

// probeFeatures describes task i within its mix, whatever the order of the
// others: its speed at each percentage, the mean, the least and the largest of
// the others there, its rank, and the ratios between percentages.
func probeFeatures(probes [][]float64, i int) []float64 {
	row := make([]float64, 0, 8*len(probes))
	for t, speeds := range probes {
		own := speeds[i]
		least, most, sum, below, same := own, own, 0.0, 0.0, 0.0
		for j, v := range speeds {
			if j == i {
				continue
			}
			sum += v
			least, most = min(least, v), max(most, v)
			switch {
			case v < own:
				below++
			case v == own:
				same++
			}
		}
		row = append(row, own, sum/float64(max(1, len(speeds)-1)), least, most, below, same)
		if t > 0 {
			row = append(row, own/probes[t-1][i])
		}
	}
	return row
}

type probeFile struct {
	Format     string        `json:"format"`
	Version    int           `json:"version"`
	Provenance string        `json:"provenance,omitempty"`
	Confidence float64       `json:"confidence"`
	Probes     int           `json:"probes"`
	Targets    []probeTarget `json:"targets"`
}

const (
	probeFormat  = "colloc mps probe"
	probeVersion = 1
)

// Save writes the trees as JSON.
func (m *MPSProbe) Save(w io.Writer) error {
	f := probeFile{probeFormat, probeVersion, m.provenance, m.confidence, m.probes, m.targets}
	if err := json.NewEncoder(w).Encode(f); err != nil {
		return fmt.Errorf("predict: mps probe: save: %w", err)
	}
	return nil
}

// LoadMPSProbe reads what Save wrote.
func LoadMPSProbe(r io.Reader) (*MPSProbe, error) {
	var f probeFile
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return nil, fmt.Errorf("predict: mps probe: load: %w", err)
	}
	if f.Format != probeFormat || f.Version != probeVersion {
		return nil, fmt.Errorf("predict: mps probe: load: format %q, version %d; want %q, %d: fit again", f.Format, f.Version, probeFormat, probeVersion)
	}
	if err := conformal.CheckConfidence(f.Confidence); err != nil {
		return nil, fmt.Errorf("predict: mps probe: load: %w", err)
	}
	if f.Probes < 1 || f.Probes > 100 {
		return nil, fmt.Errorf("predict: mps probe: load: %d probes, want 1 to 100", f.Probes)
	}
	columns := len(probeFeatures(slices.Repeat([][]float64{{1}}, f.Probes), 0))
	for i, t := range f.Targets {
		if t.Trees == nil || t.Trees.Columns != columns || !num.Finite(t.Half) || t.Half < 0 {
			return nil, fmt.Errorf("predict: mps probe: load: target %d: want trees of %d columns and a half width", i, columns)
		}
		if err := t.Trees.Check(); err != nil {
			return nil, err
		}
	}
	return &MPSProbe{f.Confidence, f.Provenance, f.Targets, f.Probes}, nil
}
