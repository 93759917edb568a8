package interference

import (
	"cmp"
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/profile"
)

const (
	calibrationFolds = 5
	// leastErrors is how many a familiarity needs for a factor of its own.
	leastErrors = 40
)

// probes are the numbers of co-runs of what was left out after which calibrate judges what
// was learned of it.
func probes() [6]int { return [...]int{1, 3, 8, 16, 32, 64} }

// calibrate sets the spread from predictions of observations left out in four
// ways: at random, whole task types at once, whole families at once, and these
// after some of their co-runs were observed. Each fills the
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
		all = append(all, f.learnOf(test, o.Seed, 1-o.Confidence)...)
	}
	return all, nil
}

// learnOf observes obs one by one and returns, after so many as probes says, the errors on
// those of the others whose tasks are then all known, but not from the fit. It is nil where
// the fit knew every type.
func (r *regime) learnOf(obs []*Observation, seed uint64, risk float64) (errs []standardError) {
	fresh := slices.DeleteFunc(slices.Clone(obs), func(o *Observation) bool { return r.knewAll(o) })
	if len(fresh) == 0 {
		return nil
	}
	rand.New(rand.NewPCG(seed, 0x70726f6265)).Shuffle(len(fresh), func(i, j int) { fresh[i], fresh[j] = fresh[j], fresh[i] })
	var all Observation
	for _, o := range fresh {
		all.Set = append(all.Set, o.Set...)
	}
	next, seen := r.successor(r.regimeKey, true, &all), make(map[taskType]bool)
	from := 0
	for _, upTo := range probes() {
		for ; from < min(upTo, len(fresh)); from++ {
			next.learn(fresh[from], risk)
			next.keep(fresh[from])
			for _, p := range fresh[from].Set {
				t, _ := typeOf(p)
				seen[t] = true
			}
		}
		errs = append(errs, next.errorsOn(slices.DeleteFunc(slices.Clone(fresh[from:]), func(o *Observation) bool {
			return slices.ContainsFunc(o.Set, func(p *profile.Profile) bool { t, _ := typeOf(p); return !seen[t] && !r.knew(t) })
		}))...)
	}
	return errs
}

// knewAll reports that all types of a co-run were among the data of the fit.
func (r *regime) knewAll(o *Observation) bool {
	return !slices.ContainsFunc(o.Set, func(p *profile.Profile) bool { t, _ := typeOf(p); return !r.knew(t) })
}

func (r *regime) knew(t taskType) bool {
	e := r.roster.find(t)
	return e != noEffect && e < r.roster.fitted
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

// metFamilies is the share of families like those that were met since the fit whose
// intervals hold as promised, where the others do not. From a half to three quarters,
// every share gives Lucid's worst family .885 or more from the first co-run on; pairs
// under MPS are held for .87 after 8 co-runs at a half, and at two thirds Gavel's intervals
// are a fifth to a third wider.
const metFamilies = 0.6

// slowFamilies is the share of those families whose lower ends hold for themselves, at half the
// risk: a family that is harder is slower by many times its interval, and hardly ever faster.
// Of Gavel's 68 families by GPU and number of co-runs less than .88 is held of 11 (of 13
// without lower ends of their own, two of which chance does not explain), of Lucid's 56 of one (one),
// of 32 under MPS of 4 (8). Gavel's intervals are a tenth to a fifth wider from 8 co-runs on,
// Lucid's a hundredth, those under MPS a tenth.
const slowFamilies = 0.7

// spreadOf takes for each familiarity what the errors promise at the risk. Errors
// of types of the fit are taken one by one; those of types that were met since as well,
// but for no less than what metFamilies of their families need, and their lower ends for
// what slowFamilies of them need there. Those of strangers count by family: pairs
// of one family err together, so that a new family is like one that was left out,
// not like one of its pairs. The factor of a family holds for 1 - risk of its
// rows; the conformal bound over families is then one that a new family exceeds
// with probability at most risk where there are 1/risk - 1 of them. Fewer leave it
// to a tail, an assumption. A familiarity with too few errors to say anything takes the
// widest of those of its kind, or of all.
func spreadOf(errs []standardError, sigma, risk float64) spread {
	s := spread{Noise: num.Round9(max(sigma, 1e-3))}
	var widest [2]float64 // of known types and of strangers
	var slowest float64
	var thin [familiarities]bool
	for level := range s.Factor {
		var all []float64
		byGroup, slower := make(map[string][]float64), make(map[string][]float64)
		for _, e := range errs {
			if e.level == level {
				score := e.error / (s.Noise * math.Sqrt(1+e.variance))
				all, byGroup[e.group] = append(all, math.Abs(score)), append(byGroup[e.group], math.Abs(score))
				slower[e.group] = append(slower[e.group], max(0, score))
			}
		}
		if thin[level] = len(all) < leastErrors; thin[level] {
			continue
		}
		kind := kindOf(level)
		if s.Groups[level] = len(all); kind == 0 {
			factor := conformal.New(all).Upper(risk)
			if met(level) {
				s.Usual[level] = num.Round9(factor)
				factor = max(factor, conformal.UpperOfGroups(slices.Collect(maps.Values(byGroup)), risk, 1-metFamilies))
				s.Slower[level] = num.Round9(max(factor, conformal.UpperOfGroups(slices.Collect(maps.Values(slower)), risk/2, 1-slowFamilies)))
				slowest = max(slowest, s.Slower[level])
			}
			s.Factor[level] = num.Round9(factor)
		} else {
			s.Groups[level] = len(byGroup)
			s.Factor[level] = num.Round9(conformal.UpperOfGroups(slices.Collect(maps.Values(byGroup)), risk, risk))
		}
		widest[kind] = max(widest[kind], s.Factor[level])
	}
	most := max(widest[0], widest[1])
	if most == 0 {
		most = 2 * normalQuantile(1-risk)
	}
	for level := range s.Factor {
		if thin[level] {
			s.Factor[level] = cmp.Or(widest[kindOf(level)], most)
			if met(level) && slowest > 0 {
				s.Slower[level] = max(slowest, s.Factor[level])
			}
		}
	}
	return s
}

// kindOf is 0 for a familiarity of known types, 1 with strangers.
func kindOf(level int) int {
	if level < knownLevels {
		return 0
	}
	return 1
}
