package interference

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/num"
)

const (
	calibrationFolds = 5
	// calibrationProbes is how many co-runs of each new type are observed.
	calibrationProbes = 3
	// leastErrors is how many a familiarity needs for a factor of its own.
	leastErrors = 40
)

// calibrate sets the spread from predictions of observations left out in four
// ways: at random, whole task types at once, whole families at once, and these
// after three co-runs of each of their types were observed. Each fills the
// familiarities that it produces. Families are left out in at most mostFolds folds;
// it returns ctx.Err() between two fits.
func (r *regime) calibrate(ctx context.Context, obs []*Observation, o Options, mostFolds int) error {
	random, err := r.leaveOut(ctx, obs, o, randomFolds(len(obs), o.Seed))
	if err != nil {
		return err
	}
	types, err := r.leaveOut(ctx, obs, o, groupFolds(obs, calibrationFolds, o.Seed, func(o *Observation, i int) string {
		t, _ := typeOf(o.Set[i])
		return t.String()
	}))
	if err != nil {
		return err
	}
	families, err := r.leaveOut(ctx, obs, o, groupFolds(obs, mostFolds, o.Seed, familyOf))
	if err != nil {
		return err
	}
	r.spread = spreadOf(slices.Concat(random, types, families), noise(random), 1-o.Confidence)
	return nil
}

func familyOf(o *Observation, i int) string {
	if o.Groups != nil {
		return o.Groups[i]
	}
	t, _ := typeOf(o.Set[i])
	return t.model
}

// leaveOut fits on all observations outside each fold and returns the errors
// inside.
func (r *regime) leaveOut(ctx context.Context, obs []*Observation, o Options, folds [][]bool) ([]standardError, error) {
	var all []standardError
	for _, out := range folds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var in, test []*Observation
		for i := range obs {
			if out[i] {
				test = append(test, obs[i])
			} else {
				in = append(in, obs[i])
			}
		}
		if len(in) == 0 || len(test) == 0 {
			continue
		}
		f, err := fitRegime(r.regimeKey, in, o)
		if err != nil {
			return nil, err
		}
		all = append(all, f.errorsOn(test)...)
		all = append(all, f.probe(test)...)
	}
	return all, nil
}

// probe observes a few of the co-runs, so many that each type that the regime
// does not know is in calibrationProbes of them, and returns the errors on those
// of the others whose tasks are then all known. It is nil where every type is.
func (r *regime) probe(obs []*Observation) []standardError {
	seen := make(map[taskType]int)
	var left, observed []*Observation
	var all Observation
	for _, o := range obs {
		wanted := false
		for _, p := range o.Set {
			t, named := typeOf(p)
			if e := r.roster.find(t); named && (e == noEffect || !r.roster.effects[e].trained) {
				wanted = wanted || seen[t] < calibrationProbes
				seen[t]++
			}
		}
		if wanted {
			observed, all.Set = append(observed, o), append(all.Set, o.Set...)
		} else {
			left = append(left, o)
		}
	}
	if len(seen) == 0 {
		return nil
	}
	next := r.successor(r.regimeKey, true, &all)
	for _, o := range observed {
		next.learn(o)
	}
	return next.errorsOn(left)
}

// randomFolds deals n observations into folds.
func randomFolds(n int, seed uint64) [][]bool {
	rng := rand.New(rand.NewPCG(seed, 0x666f6c6473))
	folds := make([][]bool, calibrationFolds)
	for f := range folds {
		folds[f] = make([]bool, n)
	}
	for k, i := range rng.Perm(n) {
		folds[k%calibrationFolds][i] = true
	}
	return folds
}

// groupFolds deals groups into at most limit folds; an observation is out where
// any of its tasks belongs to a group of the fold.
func groupFolds(obs []*Observation, limit int, seed uint64, group func(*Observation, int) string) [][]bool {
	var names []string
	for _, o := range obs {
		for i := range o.Set {
			names = append(names, group(o, i))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	rng := rand.New(rand.NewPCG(seed, 0x67726f757073))
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	folds := make([][]bool, min(limit, len(names)))
	for f := range folds {
		folds[f] = make([]bool, len(obs))
	}
	for k, name := range names {
		fold := folds[k%len(folds)]
		for j, o := range obs {
			for i := range o.Set {
				fold[j] = fold[j] || group(o, i) == name
			}
		}
	}
	return folds
}

// spreadOf takes for each familiarity what the errors promise at the risk. Errors
// of known types are taken one by one. Those of strangers count by family: pairs
// of one family err together, so that a new family is like one that was left out,
// not like one of its pairs. The factor of a family holds for 1 - risk of its
// rows; the conformal bound over families is then one that a new family exceeds
// with probability at most risk where there are 1/risk - 1 of them. Fewer leave it
// to a tail, an assumption. A familiarity with too
// few errors to say anything takes the widest of the others.
func spreadOf(errs []standardError, sigma, risk float64) spread {
	s := spread{Noise: num.Round9(max(sigma, 1e-3))}
	var widest float64
	var thin [familiarities]bool
	for level := range s.Factor {
		byGroup := make(map[string][]float64)
		rows := 0
		for _, e := range errs {
			if e.level == level {
				rows++
				byGroup[e.group] = append(byGroup[e.group], math.Abs(e.error)/(s.Noise*math.Sqrt(1+e.variance)))
			}
		}
		if thin[level] = rows < leastErrors; thin[level] {
			continue
		}
		if s.Groups[level] = rows; level == 0 {
			s.Factor[level] = num.Round9(conformal.New(byGroup[""]).Upper(risk))
		} else {
			s.Groups[level] = len(byGroup)
			s.Factor[level] = num.Round9(conformal.UpperOfGroups(slices.Collect(maps.Values(byGroup)), risk, risk))
		}
		widest = max(widest, s.Factor[level])
	}
	if widest == 0 {
		widest = 2 * normalQuantile(1-risk)
	}
	for level := range s.Factor {
		if thin[level] {
			s.Factor[level] = widest
		}
	}
	return s
}
