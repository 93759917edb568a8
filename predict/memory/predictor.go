package memory

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/footprint"
	"example.com/colloc/profile"
)

// Predictor predicts the peak device memory of a training task. Make one with
// [Fit], [Load] or package pretrained; the zero Predictor goes by rules of thumb
// alone.
//
// A Predictor is safe for concurrent use.
type Predictor struct {
	mu      sync.RWMutex            // of what Observe changes
	parts   [profile.Families]*part // with layers, by family
	traced  *part                   // with a shape-only run
	hosts   []host                  // sorted by name
	learned []learnedModel          // sorted by key
	floors  []floor                 // sorted by key
	told    uint64                  // order of the newest floor
	from    predict.Provenance

	together *Together
}

// host is what was learned of one host or software stack.
type host struct {
	Name    string  `json:"name"`
	Context float64 `json:"context_bytes"`
	// Rows is how many tasks it was learned from.
	Rows int `json:"rows"`
}

// Equal reports whether both are the same Predictor, as == does; what two of them
// learned is not compared. go-cmp asks it.
func (m *Predictor) Equal(other *Predictor) bool { return m == other }

// Provenance returns what the model was fitted to.
func (m *Predictor) Provenance() predict.Provenance { return m.from }

// Together returns what tasks that share a GPU need beyond the sum of their
// peaks. It is shared with m and never changes.
func (m *Predictor) Together() *Together {
	if m.together == nil {
		return &Together{}
	}
	return m.together
}

// Peak predicts the peak device memory of spec in bytes, as nvidia-smi counts
// it: context, libraries and the framework's cache included. The interval
// covers 90 %.
//
// The source is Fitted where tasks of the model's family, or shape-only runs
// ([profile.Traced]), were measured, and Prior otherwise, Measured after [Predictor.Observe]
// of the model: under a prior the terms have
// the coefficients that PyTorch's allocator suggests, and the interval is wide.
// Distance is the largest of the features' distances from the middle of their
// range in the data, in half ranges; the interval widens in proportion beyond 1.
//
// A task of which neither all activations nor a shape-only run is known, and that
// was not observed, may need any amount: Hi is then [Whole].
//
// It returns an error for an invalid Spec and a host context that no GPU has.
// O(layers + trees), no allocation.
func (m *Predictor) Peak(spec *profile.Spec, host predict.Host) (predict.Estimate, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p, err := m.predict(spec, host)
	if err != nil {
		return predict.Estimate{}, err
	}
	const tail = (1 - conformal.Confidence) / 2
	lo, value, hi := p.quantile(p.scores.Lower(tail)), p.peak(), p.quantile(p.scores.Upper(tail))
	e := predict.Estimate{
		Value: value, Lo: min(max(p.held, lo-p.doubtLo), value), Hi: max(hi+p.doubtHi, value), Confidence: conformal.Confidence, Source: p.source,
	}
	f := m.floor(spec, 0)
	if p.blind && (f == nil || f.Peak == 0) {
		e.Hi = float64(Whole)
	}
	if f != nil {
		e.Value = max(e.Value, float64(f.needs()))
		e.Hi = max(e.Hi, e.Value, float64(f.least()))
		if e.Value > value {
			e.Source = predict.Source{Kind: predict.Measured}
		}
	}
	return e, nil
}

// Reserve returns the memory to set aside for spec so that
//
//	P(peak > reservation) ≤ risk
//
// for a task exchangeable with the data, by split conformal prediction, and never
// less than [Predictor.Least]. risk is in (0, 1); 0.01 is common. A source of Prior
// has no such guarantee. Where the activations are unknown, see [Predictor.Peak],
// it is [Whole]. Errors and cost as for [Predictor.Peak].
func (m *Predictor) Reserve(spec *profile.Spec, host predict.Host, risk float64) (profile.Bytes, error) {
	if err := conformal.CheckRisk(risk); err != nil {
		return 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	p, err := m.predict(spec, host)
	if err != nil {
		return 0, err
	}
	reserved, f := profile.BytesOf(p.quantile(p.scores.Upper(risk))+p.doubtHi), m.floor(spec, 0)
	switch {
	case p.blind && f != nil && f.Peak > 0: // nothing but what was measured
		return f.least(), nil
	case p.blind:
		return Whole, nil
	case f != nil:
		reserved = max(reserved, f.least())
	}
	return reserved, nil
}

// Whole is the reservation for a task that may need any amount, as its
// description does not tell what it keeps: a whole GPU, whatever it holds.
const Whole = profile.Bytes(math.MaxInt64)

// prediction is a task's memory on one host.
type prediction struct {
	point
	scores  *conformal.Bounds
	part    *part   // nil for a prior, whose scores nothing may change
	base    float64 // context that the spread refers to
	doubtLo float64 // what an unknown host may need less, bytes
	doubtHi float64 // and more
	source  predict.Source
	blind   bool // what the task keeps is unknown
}

// peak is the best single number.
func (p *prediction) peak() float64 { return p.context + p.rest }

// quantile moves the prediction by a score. The spread is one of the whole on
// the fitted stack; what it adds in bytes is carried over to the host.
func (p *prediction) quantile(score float64) float64 {
	whole := p.base + p.rest
	moved := whole * math.Exp(max(-10, min(10, score*p.spread)))
	return max(p.context/2, p.context+moved-p.base)
}

// predict chooses the part that knows such tasks best.
func (m *Predictor) predict(spec *profile.Spec, host predict.Host) (prediction, error) {
	if spec == nil {
		return prediction{}, errors.New("predict: memory: the spec is nil")
	}
	if !footprint.Plausible(spec) {
		if err := spec.Validate(); err != nil {
			return prediction{}, fmt.Errorf("predict: memory: %w", err)
		}
	}
	context, known := host.Context.Get()
	if context < 0 || context > predict.MaxContext {
		return prediction{}, fmt.Errorf("predict: memory: host %q: context is %v, want 0 to %v", host.Name, context, predict.MaxContext)
	}
	c := m.choose(spec)
	p := prediction{point: c.point, scores: c.scores, base: c.context}
	p.source = predict.Source{Kind: c.kind, Distance: c.distance, Groups: c.groups}
	if c.kind == predict.Prior {
		p.source.Distance, p.source.Groups = 0, 0
	} else {
		p.part = c.part
	}
	p.settle(m, host.Name, context, known)
	m.apply(spec, &p)
	p.blind = c.part == &blindPrior && p.source.Kind == predict.Prior
	return p, nil
}

// Doubt about a stack whose context nobody measured: the fitted one is among
// the largest known (1.4 GiB more than a lazily loading CUDA 12 needs).
const (
	unknownLess = 1200 * profile.MiB
	unknownMore = 400 * profile.MiB
)

// settle exchanges the fitted context for the host's.
func (p *prediction) settle(m *Predictor, name string, context profile.Bytes, known bool) {
	if known {
		p.context = float64(context)
		return
	}
	if h := m.host(name); h != nil {
		if h.Context > 0 {
			p.context = h.Context
		}
		return
	}
	p.doubtLo, p.doubtHi = float64(unknownLess), float64(unknownMore)
	if p.source.Kind != predict.Prior {
		p.source.Distance = max(p.source.Distance, 1.5)
	}
}

// host returns what is known of a host, or nil.
func (m *Predictor) host(name string) *host {
	for i := range m.hosts {
		if m.hosts[i].Name == name {
			return &m.hosts[i]
		}
	}
	return nil
}

// chosen is a prediction by one part and the scores that are about such tasks.
type chosen struct {
	point
	part   *part
	scores *conformal.Bounds
	kind   predict.SourceKind
	groups int
}

// ask predicts a task by one part of the data. Where the architecture is unknown
// and the part saw too few to say anything of another, the answer is a prior.
func (p *part) ask(t *task, architecture string) chosen {
	stranger := p.strange(architecture)
	c := chosen{p.at(t, stranger), p, &p.Scores, predict.Fitted, p.Groups}
	switch {
	case stranger && len(p.Strange.Scores) == 0:
		c.spread, c.scores, c.kind = max(c.spread, priorSpread), &layeredPrior.Scores, predict.Prior
	case stranger:
		c.scores = &p.Strange
	case p.Groups < manyGroups:
		c.groups = p.Rows // rows of known architectures were left out one by one
	}
	return c
}

// choose predicts a task by the part that knows such tasks best: the family's,
// or the one for shape-only runs where there is one; of both, the surer.
func (m *Predictor) choose(spec *profile.Spec) chosen {
	var t task
	t.describe(spec)
	c := chosen{part: &blindPrior}
	if _, layered := spec.Model.Activations(); layered {
		c.part = &layeredPrior
		if p := m.parts[spec.Model.Guess()]; p != nil {
			c = p.ask(&t, spec.Model.Architecture)
		}
	}
	if c.scores == nil {
		c.point, c.scores = c.part.at(&t, false), &c.part.Scores
	}
	traced := !spec.Traced.AfterForward.IsZero() || !spec.Traced.AfterBackward.IsZero()
	if !traced || m.traced == nil {
		return c
	}
	t.describeTraced(spec)
	other := m.traced.ask(&t, spec.Model.Architecture)
	if c.kind == predict.Fitted && c.spread*c.scores.Upper(0.01) <= other.spread*other.scores.Upper(0.01) {
		return c
	}
	return other
}

// learnedModel is what was learned online of one model by name.
type learnedModel struct {
	// Key is a hash of the model's name, data set, precision and optimiser.
	Key uint64 `json:"key,string"`
	// Offset is the mean of log(seen/predicted) of what the task itself needs.
	Offset float64 `json:"offset"`
	Rows   int     `json:"rows"`
	// Order grows with every observation; 0 in files of old versions.
	Order uint64 `json:"order,omitempty"`
}

const (
	// modelShrink is how many observations of a model its offset is shrunk by.
	modelShrink = 0.5
	// hostShrink is how many observations a fitted context counts for.
	hostShrink = 2
	// biggestStep bounds what one observation may say of a context.
	biggestStep = 2 * float64(profile.GiB)
	// mostScores bounds the scores that are kept.
	mostScores = 10_000
	// mostModels bounds the models of which an offset is kept; the one that was told of
	// least recently is forgotten first. mostHosts bounds the hosts that are learned.
	mostModels, mostHosts = 10_000, 1_000
)

// findModel returns the place of a model among those learned.
func (m *Predictor) findModel(key uint64) (int, bool) {
	return slices.BinarySearchFunc(m.learned, key, func(a learnedModel, k uint64) int { return cmp.Compare(a.Key, k) })
}

// weight is how far an offset is trusted.
func (l *learnedModel) weight() float64 { return float64(l.Rows) / (float64(l.Rows) + modelShrink) }

// apply moves a prediction by what was learned of its model.
func (m *Predictor) apply(spec *profile.Spec, p *prediction) {
	if len(m.learned) == 0 || spec.Model.Name == "" {
		return
	}
	at, known := m.findModel(modelKey(spec))
	if !known {
		return
	}
	l := &m.learned[at]
	p.rest *= math.Exp(l.Offset * l.weight())
	p.source.Kind = predict.Measured
	p.spread = max(p.spread/math.Sqrt(1+float64(l.Rows)), min(p.spread, leastSpread))
}

// leastSpread is what repeated runs of one task still differ by.
const leastSpread = 0.005

// The constants of FNV-1a, 64 bit.
const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

// modelKey hashes what a model is remembered by (FNV-1a, 64 bit).
func modelKey(spec *profile.Spec) uint64 {
	h := uint64(fnvOffset)
	for _, text := range [...]string{spec.Model.Name, spec.Dataset.Name} {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * fnvPrime
		}
		h = (h ^ 0xff) * fnvPrime
	}
	for _, n := range [...]int{int(spec.Training.Precision), int(spec.Training.Optimizer), int(spec.Training.Parallelism), spec.Training.GPUs} {
		h = (h ^ uint64(n)) * fnvPrime
	}
	return h
}
