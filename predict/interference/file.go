package interference

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/corun"
	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/predict/internal/trees"
	"example.com/colloc/profile"
)

// The file form of a Predictor: one JSON object. The solution is not in it, and
// neither are the priors, where they follow from the sums.
type file struct {
	Format  string       `json:"format"`
	Version int          `json:"version"`
	Vector  int          `json:"vector_version"`
	Options optionsFile  `json:"options"`
	Regimes []regimeFile `json:"regimes"`
	// Priors are those of the mechanisms where something was learned since they were
	// made from the regimes; absent means that they follow from these.
	Priors []priorFile `json:"priors,omitempty"`
}

// priorFile is the prior of one mechanism, for GPUs without a regime.
type priorFile struct {
	Mechanism profile.Mechanism `json:"mechanism"`
	Effects   []effectFile      `json:"effects"`
	Mean      []float64         `json:"prior_mean"`
}

// optionsFile are the options as they are saved.
type optionsFile struct {
	Confidence float64 `json:"confidence"`
	NoTrees    bool    `json:"no_trees,omitempty"`
	// Forget is absent or 1: files had it because observations could once fade.
	Forget     float64 `json:"forget,omitempty"`
	Seed       uint64  `json:"seed,omitempty"`
	Provenance string  `json:"provenance,omitempty"`
}

const (
	format  = "colloc interference"
	version = 4
)

type regimeFile struct {
	GPU       string            `json:"gpu"`
	Mechanism profile.Mechanism `json:"mechanism"`
	Effects   []effectFile      `json:"effects"`
	// Fitted is how many of them, the first, are of the data of the fit.
	Fitted int32 `json:"of_the_fit,omitempty"`
	// Mean is the prior mean of every column; absent means 0.
	Mean    []float64       `json:"prior_mean,omitempty"`
	Base    normalFile      `json:"fitted"`
	Learned learnedFile     `json:"learned"`
	Trees   *trees.Ensemble `json:"trees,omitempty"`
	Spread  spread          `json:"spread"`
	Drift   drift           `json:"drift,omitzero"`
	// Posterior is the solution where it was updated row by row: solving the sums
	// gives the same up to rounding.
	Posterior *lsq.Solution `json:"posterior,omitempty"`
	// Kept is what the next refit starts from; only Archive writes it.
	Kept *keptFile `json:"kept,omitempty"`
}

type keptFile struct {
	Fit        *corun.Table `json:"fit,omitempty"`
	Observed   *corun.Table `json:"observed"`
	Past       *learnedFile `json:"past,omitempty"`
	Whole      bool         `json:"whole,omitempty"`
	Count      int          `json:"count"`
	Calibrated int          `json:"calibrated,omitempty"`
	Clock      float64      `json:"half_lives,omitempty"`
	Stamps     []float64    `json:"stamps,omitempty"`
}

type effectFile struct {
	Model     string            `json:"model"`
	Dataset   string            `json:"dataset,omitempty"`
	Batch     int               `json:"batch,omitempty"`
	Precision profile.Precision `json:"precision,omitempty"`
	All       bool              `json:"all,omitempty"`
	Trained   bool              `json:"trained,omitempty"`
	Traits    [2]float64        `json:"traits,omitzero"`
}

type normalFile struct {
	Weight float64   `json:"weight"`
	Sums   []float64 `json:"sums"`
	Matrix []float64 `json:"matrix"` // upper triangle, column by column
}

// learnedFile is normalFile for sums that are not rounded.
type learnedFile struct {
	Weight float64   `json:"weight"`
	Sums   lsq.Exact `json:"sums"`
	Matrix lsq.Exact `json:"matrix"`
}

// Save writes the model as JSON: what it was fitted on and what it learned, as
// sums, with GPU and mechanism of each. A loaded model says the same as the saved
// one, bit by bit, and saving it gives the same bytes. O(p²) per GPU and mechanism.
func (m *Predictor) Save(w io.Writer) error { return m.save(w, false) }

// Archive is Save with the co-runs that are kept, those of [Fit] too, so that a
// loaded model also says after a [Predictor.Refit] what the saved one would. The file
// holds what was measured, task by task: give it to nobody who must not have that.
// O(p² + co-runs) per GPU and mechanism.
func (m *Predictor) Archive(w io.Writer) error { return m.save(w, true) }

func (m *Predictor) save(w io.Writer, kept bool) error {
	m.writer.Lock()
	defer m.writer.Unlock()
	s := m.load()
	f := file{
		Format: format, Version: version, Vector: profile.VectorVersion,
		Options: optionsFile{s.options.Confidence, s.options.NoTrees, 0, s.options.Seed, s.options.Provenance}, Regimes: []regimeFile{},
	}
	for _, r := range s.regimes {
		f.Regimes = append(f.Regimes, r.file())
		if kept {
			f.Regimes[len(f.Regimes)-1].Kept = r.keptFile()
		}
	}
	if s.learned {
		for mech, p := range s.priors {
			f.Priors = append(f.Priors, priorFile{profile.Mechanism(mech), p.roster.file(), p.mu})
		}
	}
	if err := json.NewEncoder(w).Encode(f); err != nil {
		return fmt.Errorf("predict: interference: save: %w", err)
	}
	return nil
}

func (r *regime) file() regimeFile {
	f := regimeFile{
		GPU: r.gpu, Mechanism: r.mechanism, Effects: r.roster.file(), Fitted: r.roster.fitted, Trees: r.trees, Spread: r.spread, Drift: r.drift,
		Base: sumsFile(r.base), Learned: learnedSums(r.learned),
	}
	for _, v := range r.mu {
		if v != 0 {
			f.Mean = r.mu
			break
		}
	}
	if r.updated {
		f.Posterior = r.post.Solution()
	}
	return f
}

func (r *roster) file() []effectFile {
	effects := make([]effectFile, 0, len(r.effects))
	for _, e := range r.effects {
		effects = append(effects, effectFile{e.model, e.dataset, e.batch, e.precision, e.all, e.trained, e.traits})
	}
	return effects
}

func sumsFile(a *lsq.Sums) normalFile {
	if a.N == 0 {
		return normalFile{Sums: []float64{}, Matrix: []float64{}}
	}
	return normalFile{Weight: a.N, Sums: a.G, Matrix: a.H}
}

func learnedSums(a *lsq.Sums) learnedFile {
	f := sumsFile(a)
	return learnedFile{f.Weight, f.Sums, f.Matrix}
}

func (f *learnedFile) normal(p int) (*lsq.Sums, error) {
	return (&normalFile{f.Weight, f.Sums, f.Matrix}).normal(p)
}

// Load reads what Save and Archive wrote. It returns an error for another
// format or version and for contents that no fit can have produced.
// O(p³) per GPU and mechanism.
func Load(r io.Reader) (*Predictor, error) {
	var f file
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return nil, fmt.Errorf("predict: interference: load: %w", err)
	}
	switch {
	case f.Format != format:
		return nil, fmt.Errorf("predict: interference: load: format is %q, want %q", f.Format, format)
	case f.Version != version:
		return nil, fmt.Errorf("predict: interference: load: version %d, want %d: fit again", f.Version, version)
	case f.Vector != profile.VectorVersion:
		return nil, fmt.Errorf("predict: interference: load: made for features of version %d, want %d: fit again", f.Vector, profile.VectorVersion)
	}
	if f.Options.Forget != 0 && f.Options.Forget != 1 {
		return nil, fmt.Errorf("predict: interference: load: forget is %v, want 1: fit again", f.Options.Forget)
	}
	options, err := (&Options{f.Options.Confidence, f.Options.NoTrees, f.Options.Seed, f.Options.Provenance}).withDefaults()
	if err != nil {
		return nil, err
	}
	var regimes []*regime
	seen := make(map[regimeKey]bool)
	for i := range f.Regimes {
		r, err := f.Regimes[i].regime()
		if err == nil && seen[r.regimeKey] {
			err = errors.New("appears twice")
		}
		if err != nil {
			return nil, fmt.Errorf("predict: interference: load: regime %d (%s): %w", i, f.Regimes[i].GPU, err)
		}
		seen[r.regimeKey] = true
		regimes = append(regimes, r)
	}
	next := newState(options, regimes)
	if f.Priors != nil {
		priors, err := priorsOf(f.Priors)
		if err != nil {
			return nil, fmt.Errorf("predict: interference: load: priors: %w", err)
		}
		next = stateOf(options, regimes, priors)
		next.learned = true
	}
	m := &Predictor{}
	m.state.Store(next)
	return m, nil
}

// priorsOf checks the priors that were read, one per mechanism.
func priorsOf(files []priorFile) (priors [profile.Mechanisms]*regime, err error) {
	if len(files) != len(priors) {
		return priors, fmt.Errorf("%d of them, want %d", len(files), len(priors))
	}
	for mech, f := range files {
		p := &regime{regimeKey: regimeKey{mechanism: f.Mechanism}, spread: priorSpread(), base: &lsq.Sums{}, learned: &lsq.Sums{}}
		if f.Mechanism != profile.Mechanism(mech) {
			return priors, fmt.Errorf("number %d is of %v, want %v", mech, f.Mechanism, profile.Mechanism(mech))
		}
		if p.roster, err = rosterOf(f.Effects); err != nil {
			return priors, err
		}
		if len(f.Mean) != p.roster.columns() {
			return priors, fmt.Errorf("%v: %d means, want %d", f.Mechanism, len(f.Mean), p.roster.columns())
		}
		p.lambda, p.mu = p.roster.precisions(f.Mechanism), f.Mean
		priors[mech] = p
	}
	return priors, nil
}

// regime checks what was read and solves it.
func (f *regimeFile) regime() (*regime, error) {
	if err := checkSharing(f.Mechanism); err != nil {
		return nil, err
	}
	r := &regime{regimeKey: regimeKey{catalogueName(f.GPU), f.Mechanism}, trees: f.Trees, memo: &treeMemo{}, trials: &trials{}, spread: f.Spread, drift: f.Drift}
	var err error
	if r.roster, err = rosterOf(f.Effects); err != nil {
		return nil, err
	}
	if r.roster.fitted = f.Fitted; f.Fitted < 0 || int(f.Fitted) > len(f.Effects) {
		return nil, fmt.Errorf("%d of %d effects are of the fit", f.Fitted, len(f.Effects))
	}
	p := r.roster.columns()
	r.lambda, r.mu = r.roster.precisions(r.mechanism), make([]float64, p)
	if n := len(f.Mean); n != 0 && n != p {
		return nil, fmt.Errorf("%d prior means, want %d", n, p)
	}
	copy(r.mu, f.Mean)
	if r.base, err = f.Base.normal(p); err != nil {
		return nil, fmt.Errorf("fitted: %w", err)
	}
	r.roster.blind = r.base.N > 0 && r.blind()
	if r.learned, err = f.Learned.normal(p); err != nil {
		return nil, fmt.Errorf("learned: %w", err)
	}
	if r.learned.N > 0 {
		r.past = r.learned.Clone()
	}
	if f.Trees != nil {
		if err := f.Trees.Check(); err != nil {
			return nil, err
		}
		if f.Trees.Columns != treeColumns {
			return nil, fmt.Errorf("trees of %d columns, want %d", f.Trees.Columns, treeColumns)
		}
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	if f.Kept != nil {
		if err := f.Kept.restore(r); err != nil {
			return nil, fmt.Errorf("kept: %w", err)
		}
	}
	if f.Posterior != nil {
		r.updated = true
		r.post, err = f.Posterior.Posterior(p, slopes())
		return r, err
	}
	r.post, err = lsq.Solve(r.lambda, r.mu, slopes(), r.base, r.learned)
	return r, err
}

// check verifies the numbers that solve does not.
func (f *regimeFile) check() error {
	if d := &f.Drift; d.Seen < 0 || d.Misses < 0 || d.Misses > 1 || math.Abs(d.Bias) > mostOff || slices.Min(f.Spread.Groups[:]) < 0 {
		return fmt.Errorf("%d seen, misses %v, bias %v, groups %v: want counts, and shares that can be", d.Seen, d.Misses, d.Bias, f.Spread.Groups)
	}
	if n := f.Drift.Nearer; n < leastNearer || n > 0 {
		return fmt.Errorf("lower ends nearer by a factor of e^%v", n)
	}
	if w := f.Drift.Wider; w < 0 || w > math.Log(conformal.MaxWiden)+1e-9 {
		return fmt.Errorf("intervals wider by a factor of e^%v", w)
	}
	for _, v := range slices.Concat(f.Spread.Factor[:], f.Spread.Usual[:], f.Spread.Slower[:], []float64{f.Spread.Noise}) {
		if v < 0 {
			return fmt.Errorf("spread %v, want 0 or more", v)
		}
	}
	return nil
}

func rosterOf(effects []effectFile) (*roster, error) {
	if len(effects) > mostEffects {
		return nil, fmt.Errorf("%d effects, want at most %d", len(effects), mostEffects)
	}
	r := &roster{index: make(map[taskType]int32, len(effects))}
	for i, e := range effects {
		t := taskType{e.Model, e.Dataset, e.Batch, e.Precision, e.All}
		if e.All && t != t.whole() {
			return nil, fmt.Errorf("effect %d: a whole model with data set, batch or precision", i)
		}
		if r.find(t) != noEffect {
			return nil, fmt.Errorf("effect %d: %s appears twice", i, t)
		}
		r.index[t] = int32(i)
		r.effects = append(r.effects, effect{t, e.Trained, e.Traits})
	}
	return r, nil
}

// normal returns sums over p columns. Fewer than p are sums from before the
// last types were added.
func (f *normalFile) normal(p int) (*lsq.Sums, error) {
	k := len(f.Sums)
	if k > p || len(f.Matrix) != lsq.PackedLen(k) || f.Weight < 0 {
		return nil, fmt.Errorf("%d sums, %d entries, weight %v for %d columns", k, len(f.Matrix), f.Weight, p)
	}
	for _, v := range slices.Concat(f.Sums, f.Matrix) {
		if !num.Finite(v) {
			return nil, errors.New("a sum is not finite")
		}
	}
	return &lsq.Sums{H: append(lsq.Packed(nil), f.Matrix...), G: append([]float64(nil), f.Sums...), N: f.Weight}, nil
}
