package utilization

import (
	"fmt"
	"math"
	"slices"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/folds"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/predict/internal/trees"
	"example.com/colloc/profile"
)

// Observation is one task that ran alone on a GPU, with what was
// seen of it. A counter that was not read is missing.
type Observation struct {
	// Spec is what ran.
	Spec profile.Spec
	// GPU is where it ran.
	GPU profile.GPUModel
	// Use holds the means over the run; the fields that Solo predicts count.
	Use profile.Sample
	// Group names what the task is related to.
	Group string
}

// Options configure [Fit]; nil and the zero value are the defaults.
type Options struct {
	// Seed chooses folds and the rows that trees see.
	Seed uint64
	// Provenance is stored with the model.
	Provenance predict.Provenance
}

// Fit fits a model to observed tasks, one for each family and
// quantity with at least 50 observations, by boosted trees on sizes, shares of
// layer kinds and the times that bound a step. All observations must be of one
// GPU product. It returns an error that gives the index of an invalid
// observation, and one if no family has enough. The same input gives the same
// model. O(observations × trees).
func Fit(obs []Observation, o *Options) (*Predictor, error) {
	if o == nil {
		o = &Options{}
	}
	u := &Predictor{from: o.Provenance}
	var rows [profile.Families][quantities]useRows
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
		var x [featureCount]float64
		full := obs[i].GPU.Figures()
		describe(&x, &obs[i].Spec, &full)
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
var useHuber = [quantities]float64{smActive: 0.05, smOccupancy: 0.05, dramActive: 0.05, gpuBusy: 0.1}

// targets are the quantities in the order of the constants.
func (o *Observation) targets() [quantities]profile.Opt[float64] {
	return [quantities]profile.Opt[float64]{o.Use.SMActive, o.Use.SMOccupancy, o.Use.DRAMActive, o.Use.GPUBusy}
}

func (o *Observation) check() error {
	if err := o.Spec.Validate(); err != nil {
		return err
	}
	if g := o.GPU.Figures(); !(g.FP32 > 0) || !(g.BandwidthBytesPerSec > 0) {
		return fmt.Errorf("GPU %q has no FP32 rate or bandwidth", o.GPU.Name)
	}
	for k, v := range o.targets() {
		if y := v.Or(0); !(y >= 0 && y <= 1) {
			return fmt.Errorf("%s is %v, want 0 to 1", names[k], y)
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

func (r *useRows) add(x *[featureCount]float64, y float64) {
	r.x = append(r.x, slices.Clone(x[:]))
	r.y = append(r.y, y)
}

// mean fits the prediction itself.
func (r *useRows) mean(at []int, seed uint64) *trees.Ensemble {
	return trees.Fit(folds.Pick(r.x, at), folds.Pick(r.y, at), nil, trees.Options{
		Rounds: 150, Depth: 5, Rate: 0.1, MinLeaf: 5, Penalty: 1, RowShare: 0.7, ColumnShare: 0.5, Huber: r.huber, Seed: seed,
	})
}

// size fits the square root of the error's size.
func (r *useRows) size(at []int, left []float64, seed uint64) *trees.Ensemble {
	y := make([]float64, len(at))
	for k, i := range at {
		y[k] = math.Sqrt(math.Abs(left[i]))
	}
	return trees.Fit(folds.Pick(r.x, at), y, nil, trees.Options{
		Rounds: 60, Depth: 3, Rate: 0.08, MinLeaf: 20, Penalty: 10, RowShare: 0.7, ColumnShare: 0.5, Seed: seed + 100,
	})
}

// fit fits mean and spread and calibrates on rows left out.
func (r *useRows) fit(seed uint64) *part {
	p := &part{Rows: len(r.y), memo: &useMemo{}}
	all := make([]int, len(r.y))
	for i := range all {
		all[i] = i
	}
	fold := folds.Deal(len(r.y), folds.Count, seed)
	split := func(k int) (train, test []int) {
		return folds.Where(all, func(i int) bool { return fold[i] != k }), folds.Where(all, func(i int) bool { return fold[i] == k })
	}
	left := make([]float64, len(r.y))
	for k := range folds.Count {
		train, test := split(k)
		m := r.mean(train, seed)
		for _, i := range test {
			left[i] = r.y[i] - m.Predict(r.x[i])
		}
	}
	sorted := make([]float64, len(left))
	for i := range left {
		sorted[i] = math.Abs(left[i])
	}
	slices.Sort(sorted)
	p.Flat = num.Round9(max(1e-4, sorted[len(sorted)/2]))
	var scores []float64
	for k := range folds.Count {
		train, test := split(k)
		q := part{Flat: p.Flat, Spread: r.size(train, left, seed)}
		for _, i := range test {
			scores = append(scores, num.Round9(left[i]/q.spread((*[featureCount]float64)(r.x[i]))))
		}
	}
	p.Scores = conformal.New(scores)
	p.Mean = r.mean(all, seed)
	p.Spread = r.size(all, left, seed)
	p.Lo, p.Hi = num.Ranges(r.x)
	return p
}
