package predict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/profile"
)

// learnedModel is what was learned online of one model by name.
type learnedModel struct {
	// Key is a hash of the model's name, data set, precision and optimiser.
	Key uint64 `json:"key,string"`
	// Offset is the mean of log(seen/predicted) of what the task itself needs.
	Offset float64 `json:"offset"`
	Rows   int     `json:"rows"`
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
)

// Observe learns from a task that ran, in three ways: the context of its host
// where that is named and not measured; an offset for tasks of the same model
// name, data set, precision and optimiser, at any batch; and the scores that
// intervals come from. A censored observation, a task that ran out of memory
// with Peak bytes free to it, only ever raises predictions that were below.
//
// The order of observations matters a little: context and offset are running
// means. It returns an error, and learns nothing, for an invalid observation.
// O(log(models) + scores).
func (m *Memory) Observe(o MemoryObservation) error {
	if err := o.check(); err != nil {
		return fmt.Errorf("predict: observe memory: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.predict(&o.Spec, o.Host)
	if err != nil {
		return err
	}
	seen := float64(o.Peak)
	if o.Censored && p.peak() >= seen {
		return nil
	}
	m.learnScore(&o, &p)
	if !o.Censored {
		p.context = m.learnHost(&o.Host, p.context, seen-p.peak())
	}
	m.learnModel(&o.Spec, seen-p.context, p.rest)
	return nil
}

// learnScore adds the error of the prediction to those that intervals use.
func (m *Memory) learnScore(o *MemoryObservation, p *prediction) {
	if p.part == nil || p.spread <= 0 {
		return
	}
	s := round9(math.Log(float64(o.Peak)/p.peak()) / p.spread)
	scores := p.part.Scores.Scores
	if len(scores) >= mostScores || !finite(s) {
		return
	}
	at, _ := slices.BinarySearch(scores, s)
	p.part.Scores.Scores = slices.Insert(scores, at, s)
}

// learnHost moves the context of a named host towards what was seen and returns
// it. A host never seen starts from this one observation.
func (m *Memory) learnHost(h *Host, context, off float64) float64 {
	if _, measured := h.Context.Get(); measured || h.Name == "" {
		return context
	}
	off = min(biggestStep, max(-biggestStep, off))
	at, known := slices.BinarySearchFunc(m.hosts, h.Name, func(a memoryHost, name string) int { return cmp.Compare(a.Name, name) })
	if !known {
		m.hosts = slices.Insert(m.hosts, at, memoryHost{Name: h.Name})
		m.hosts[at].Context = round9(max(1, context+off))
		m.hosts[at].Rows = 1
		return m.hosts[at].Context
	}
	host := &m.hosts[at]
	host.Rows++
	host.Context = round9(max(1, context+off/float64(host.Rows+hostShrink)))
	return host.Context
}

// learnModel moves the offset of a named model towards seen/predicted.
func (m *Memory) learnModel(spec *profile.Spec, seen, predicted float64) {
	if spec.Model.Name == "" || predicted <= 0 {
		return
	}
	ratio := min(2, max(-2, math.Log(max(seen, predicted/8)/predicted)))
	key := modelKey(spec)
	at, known := slices.BinarySearchFunc(m.learned, key, func(a learnedModel, k uint64) int { return cmp.Compare(a.Key, k) })
	if !known {
		m.learned = slices.Insert(m.learned, at, learnedModel{Key: key})
	}
	l := &m.learned[at]
	// ratio is against a prediction that already has the shrunk offset.
	full := l.Offset*l.weight() + ratio
	l.Rows++
	l.Offset = round9(l.Offset + (full-l.Offset)/float64(l.Rows))
}

// weight is how far an offset is trusted.
func (l *learnedModel) weight() float64 { return float64(l.Rows) / (float64(l.Rows) + modelShrink) }

// apply moves a prediction by what was learned of its model.
func (m *Memory) apply(spec *profile.Spec, p *prediction) {
	if len(m.learned) == 0 || spec.Model.Name == "" {
		return
	}
	at, known := slices.BinarySearchFunc(m.learned, modelKey(spec), func(a learnedModel, k uint64) int { return cmp.Compare(a.Key, k) })
	if !known {
		return
	}
	l := &m.learned[at]
	p.rest *= math.Exp(l.Offset * l.weight())
	p.source.Kind = Measured
	p.spread = max(p.spread/math.Sqrt(1+float64(l.Rows)), min(p.spread, leastSpread))
}

// leastSpread is what repeated runs of one task still differ by.
const leastSpread = 0.005

// modelKey hashes what a model is remembered by (FNV-1a, 64 bit).
func modelKey(spec *profile.Spec) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for _, text := range [...]string{spec.Model.Name, spec.Dataset.Name} {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * prime
		}
		h = (h ^ 0xff) * prime
	}
	for _, n := range [...]int{int(spec.Training.Precision), int(spec.Training.Optimizer), int(spec.Training.Parallelism), spec.Training.GPUs} {
		h = (h ^ uint64(n)) * prime
	}
	return h
}
