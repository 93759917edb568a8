package interference

import (
	"context"
	"fmt"
	"math"
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
// a path of its own.
type OwnSet string

// Name is the name of the file.
func (s OwnSet) Name() string { return strings.TrimSuffix(filepath.Base(string(s)), ".csv") }

// File is the same: test files have its name.
func (s OwnSet) File() string { return s.Name() }

// Folder is where the file lies.
func (s OwnSet) Folder() string { return filepath.Dir(string(s)) }

// Open implements [protocol.Set].
func (s OwnSet) Open(folder, base string) (protocol.Table, error) {
	rows, err := protocol.OpenFile(folder, base, dataset.ReadCoRuns)
	return ownTable(rows), err
}

// ownTable is one table of co-runs.
type ownTable []interference.Observation

func (t ownTable) Size() int           { return len(t) }
func (t ownTable) Family(i int) string { return t.families(i)[0] }

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
	families := make([][]string, len(t))
	for i := range t {
		families[i] = t.families(i)
	}
	return []protocol.Split{{Name: "random", Folds: protocol.RandomFolds(len(t))}, {Name: "family", Folds: predict.GroupFolds(families, protocol.FamilyLimit)}}
}

// Score compares what own rows teach, with and without the pretrained model, and what
// that says without any.
func (t ownTable) Score(from protocol.Table, folds []protocol.Fold) ([]protocol.Result, error) {
	train, ok := from.(ownTable)
	if !ok {
		return nil, protocol.ErrSet
	}
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
	inFolds := protocol.ByFold{}
	var off, covered, width float64
	for k, f := range folds {
		rows := make([]interference.Observation, len(f.Train))
		for at, i := range f.Train {
			rows[at] = train[i]
		}
		ask, err := fit(rows)
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
				v, ok := o.Speeds[at].Get()
				if !ok {
					continue
				}
				inside := e.Lo <= v && v <= e.Hi
				inFolds.Add(k, o.GPU, inside, math.Abs(v-e.Value))
				out.N++
				off += math.Abs(v - e.Value)
				width += e.Hi - e.Lo
				if inside {
					covered++
				}
			}
		}
	}
	n := float64(max(1, out.N))
	median, worst := inFolds.Off()
	out.Add("mae", off/n)
	out.Add("median_group_mae", median)
	out.Add("worst_group_mae", worst)
	out.Add("coverage_pct", 100*covered/n)
	out.Add("worst_coverage_pct", 100*inFolds.WorstCover())
	out.Add("width", width/n)
	return out, nil
}
