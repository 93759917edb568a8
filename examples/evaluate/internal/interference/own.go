package interference

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// OwnSet is a table of somebody's own co-runs, in the layout of [dataset.ReadCoRuns], at
// a path of its own; its name is that of the file.
func OwnSet(path string) protocol.Set {
	s := protocol.NewSet(strings.TrimSuffix(filepath.Base(path), ".csv"), func(folder, base string) (ownTable, error) {
		return protocol.OpenFile(folder, base, dataset.ReadCoRuns)
	})
	s.Folder = filepath.Dir(path)
	return s
}

// ownTable is one table of co-runs.
type ownTable []interference.Observation

func (t ownTable) Size() int { return len(t) }

// families are the groups of a row, its models' names where it has none.
func (t ownTable) families(i int) []string {
	if t[i].Groups != nil {
		return t[i].Groups
	}
	var names []string
	for _, p := range t[i].Set {
		names = append(names, p.Spec.Model.Name)
	}
	return names
}

// Splits deals co-runs at random and leaves out all that touch a family.
func (t ownTable) Splits() []protocol.Split {
	return []protocol.Split{
		{Name: "random", Folds: protocol.RandomFolds(len(t))},
		{Name: "family", Folds: protocol.LeaveOut(len(t), protocol.FamilyLimit, t.families)},
	}
}

// Score compares what own rows teach, with and without the pretrained model, and what
// that says without any.
func (t ownTable) Score(train ownTable, folds []protocol.Fold) ([]protocol.Result, error) {
	before, err := pretrained.Interference()
	if err != nil {
		return nil, err
	}
	type model = *interference.Predictor
	fitted := func(fit func(rows []interference.Observation) (model, error)) func(rows []interference.Observation) (ratios, error) {
		return func(rows []interference.Observation) (ratios, error) {
			m, err := fit(rows)
			if err != nil {
				return nil, err
			}
			return m.Ratios, nil
		}
	}
	var results []protocol.Result
	for _, by := range []struct {
		name string
		fit  func(rows []interference.Observation) (ratios, error)
	}{
		{"colloc", fitted(func(rows []interference.Observation) (model, error) { return before.With(context.Background(), rows) })},
		{"own_rows_alone", fitted(func(rows []interference.Observation) (model, error) { return interference.Fit(rows, nil) })},
		{"pretrained", func([]interference.Observation) (ratios, error) { return before.Ratios, nil }},
		{"proportional", func([]interference.Observation) (ratios, error) { return inProportion, nil }},
	} {
		r, err := t.score(train, by.name, folds, by.fit)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// ratios is [interference.Predictor.Ratios].
type ratios func(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, dst []predict.Estimate) ([]predict.Estimate, error)

// inProportion shares the SMs in proportion to demand, for any number of tasks.
func inProportion(_ *profile.GPUModel, _ profile.Mechanism, set []*profile.Profile, dst []predict.Estimate) ([]predict.Estimate, error) {
	var use float64
	for _, p := range set {
		use += p.Vector.Or(profile.MeanGPUBusy, 1)
	}
	for range set {
		dst = append(dst, predict.Estimate{Value: 1 / max(1, use)})
	}
	return dst, nil
}

// score scores one model over all folds.
func (t ownTable) score(train ownTable, name string, folds []protocol.Fold, fit func(rows []interference.Observation) (ratios, error)) (protocol.Result, error) {
	out := protocol.Result{Model: name}
	var all protocol.Tally
	for k, f := range folds {
		ask, err := fit(protocol.Select(train, f.Train))
		if err != nil {
			return out, err
		}
		for _, i := range f.Test {
			o := &t[i]
			said, err := ask(&o.Set[0].GPU, o.Mechanism, o.Set, nil)
			if err != nil {
				return out, fmt.Errorf("co-run %d: %w", i, err)
			}
			for at, e := range said {
				if v, ok := o.Speeds[at].Get(); ok {
					out.N++
					all.Estimate(k, o.GPU, v, e)
				}
			}
		}
	}
	median, worst := all.FoldErrors()
	out.Add("mae", all.Mean())
	out.Add("median_group_mae", median)
	out.Add("worst_group_mae", worst)
	out.Add("coverage_pct", 100*all.Cover())
	out.Add("worst_coverage_pct", 100*all.WorstCover())
	out.Add("width", all.Span())
	return out, nil
}
