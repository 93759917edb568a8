package predict

import (
	"fmt"
	"math"
	"slices"

	"example.com/colloc/profile"
)

// UtilizationOptions configure FitUtilization; nil and the zero value are the
// defaults.
type UtilizationOptions struct {
	// Seed chooses folds and the rows that trees see.
	Seed uint64
	// Provenance is stored with the model.
	Provenance Provenance
}

// FitUtilization fits a model to observed tasks, one for each family and
// quantity with at least 50 observations, by boosted trees on sizes, shares of
// layer kinds and the times that bound a step. All observations must be of one
// GPU product. It returns an error that gives the index of an invalid
// observation, and one if no family has enough. The same input gives the same
// model. O(observations × trees).
func FitUtilization(obs []UtilizationObservation, o *UtilizationOptions) (*Utilization, error) {
	if o == nil {
		o = &UtilizationOptions{}
	}
	u := &Utilization{from: o.Provenance}
	var rows [profile.Families][useTargets]useRows
	for i := range obs {
		if err := obs[i].check(); err != nil {
			return nil, fmt.Errorf("predict: fit utilization: observation %d: %w", i, err)
		}
		if u.gpu == "" {
			u.gpu = obs[i].GPU.Canonical()
		}
		if obs[i].GPU.Canonical() != u.gpu {
			return nil, fmt.Errorf("predict: fit utilization: observation %d is of GPU %q, the first of %q: fit one model each", i, obs[i].GPU.Name, u.gpu)
		}
		var x [useFeatures]float64
		full := obs[i].GPU.Figures()
		describeUse(&x, &obs[i].Spec, &full)
		family := obs[i].Spec.Model.Guess()
		for k, v := range obs[i].targets() {
			if y, ok := v.Get(); ok {
				rows[family][k].add(&x, toScale(y, k))
			}
		}
	}
	fitted := 0
	for family := range rows {
		for k := range rows[family] {
			if len(rows[family][k].y) >= leastForUse {
				rows[family][k].huber = useHuber[k]
				u.parts[family][k] = rows[family][k].fit(o.Seed)
				fitted++
			}
		}
	}
	if fitted == 0 {
		return nil, fmt.Errorf("predict: fit utilization: %d observations, want at least %d of one family", len(obs), leastForUse)
	}
	return u, nil
}

// leastForUse is the number of observations below which nothing is fitted.
const leastForUse = 50

// useHuber makes the fit robust where runs of one minute scatter: a job that
// starts late shows in the mean.
//
//nolint:gochecknoglobals // read-only table
var useHuber = [useTargets]float64{smActive: 0.05, smOccupancy: 0.05, dramActive: 0.05, gpuBusy: 0.1}

// targets are the quantities in the order of the constants.
func (o *UtilizationObservation) targets() [useTargets]profile.Opt[float64] {
	return [useTargets]profile.Opt[float64]{o.Use.SMActive, o.Use.SMOccupancy, o.Use.DRAMActive, o.Use.GPUBusy}
}

func (o *UtilizationObservation) check() error {
	if err := o.Spec.Validate(); err != nil {
		return err
	}
	if g := o.GPU.Figures(); !(g.FP32 > 0) || !(g.BandwidthBytesPerSec > 0) {
		return fmt.Errorf("GPU %q has no FP32 rate or bandwidth", o.GPU.Name)
	}
	for k, v := range o.targets() {
		if y := v.Or(0); !(y >= 0 && y <= 1) {
			return fmt.Errorf("%s is %v, want 0 to 1", useNames[k], y)
		}
	}
	return nil
}

// useRows are the rows of one quantity.
type useRows struct {
	x     [][]float64
	y     []float64
	huber float64 // residual beyond which the loss grows linearly
}

func (r *useRows) add(x *[useFeatures]float64, y float64) {
	r.x = append(r.x, slices.Clone(x[:]))
	r.y = append(r.y, y)
}

// mean fits the prediction itself.
func (r *useRows) mean(at []int, seed uint64) *trees {
	return fitTrees(pick(r.x, at), pick(r.y, at), nil, treeOptions{
		Rounds: 150, Depth: 5, Rate: 0.1, MinLeaf: 5, Penalty: 1, RowShare: 0.7, ColumnShare: 0.5, Huber: r.huber, Seed: seed,
	})
}

// size fits the square root of the error's size.
func (r *useRows) size(at []int, left []float64, seed uint64) *trees {
	y := make([]float64, len(at))
	for k, i := range at {
		y[k] = math.Sqrt(math.Abs(left[i]))
	}
	return fitTrees(pick(r.x, at), y, nil, treeOptions{
		Rounds: 60, Depth: 3, Rate: 0.08, MinLeaf: 20, Penalty: 10, RowShare: 0.7, ColumnShare: 0.5, Seed: seed + 100,
	})
}

// fit fits mean and spread and calibrates on rows left out.
func (r *useRows) fit(seed uint64) *usePart {
	p := &usePart{Rows: len(r.y), memo: &useMemo{}}
	all := make([]int, len(r.y))
	for i := range all {
		all[i] = i
	}
	fold := dealRows(len(r.y), crossFolds, seed)
	split := func(k int) (train, test []int) {
		return pickIf(all, func(i int) bool { return fold[i] != k }), pickIf(all, func(i int) bool { return fold[i] == k })
	}
	left := make([]float64, len(r.y))
	for k := range crossFolds {
		train, test := split(k)
		m := r.mean(train, seed)
		for _, i := range test {
			left[i] = r.y[i] - m.predict(r.x[i])
		}
	}
	sorted := make([]float64, len(left))
	for i := range left {
		sorted[i] = math.Abs(left[i])
	}
	slices.Sort(sorted)
	p.Flat = round9(max(1e-4, sorted[len(sorted)/2]))
	var scores []float64
	for k := range crossFolds {
		train, test := split(k)
		q := usePart{Flat: p.Flat, Spread: r.size(train, left, seed)}
		for _, i := range test {
			scores = append(scores, round9(left[i]/q.spread((*[useFeatures]float64)(r.x[i]))))
		}
	}
	p.Scores = newConformal(scores)
	p.Mean = r.mean(all, seed)
	p.Spread = r.size(all, left, seed)
	p.Lo, p.Hi = ranges(r.x)
	return p
}

// ranges returns the least and largest value of each column.
func ranges(x [][]float64) (lo, hi []float64) {
	lo, hi = slices.Clone(x[0]), slices.Clone(x[0])
	for _, row := range x {
		for j, v := range row {
			lo[j], hi[j] = min(lo[j], v), max(hi[j], v)
		}
	}
	for j := range lo {
		lo[j], hi[j] = round9(lo[j]), round9(hi[j])
	}
	return lo, hi
}
