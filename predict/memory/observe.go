package memory

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/profile"
)

// Observe learns from a task that ran, in four ways: the least that may be
// reserved for this very task, see [Predictor.Least]; the context of its host
// where that is named and not measured; an offset for tasks of the same model
// name, data set, precision and optimiser, at any batch; and the scores that
// intervals come from, but for an architecture that the data lack. A censored observation, a task that ran out of memory
// with Peak bytes free to it, only ever raises predictions that were below; one
// that is assumed tells of this very task alone.
//
// The order of observations matters a little: context and offset are running
// means. Kept are the 10,000 tasks and the 10,000 models told of last, and the
// first 1,000 hosts. It returns an error, and learns nothing, for an invalid
// observation. O(log(models) + scores).
func (m *Predictor) Observe(o Observation) error {
	if err := o.check(); err != nil {
		return fmt.Errorf("predict: observe memory: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.predict(&o.Spec, o.Host)
	if err != nil {
		return err
	}
	m.learnFloor(&o)
	seen := float64(o.Peak)
	if o.Assumed || o.Censored && p.peak() >= seen {
		return nil
	}
	m.learnScore(&o, &p)
	if !o.Censored {
		p.context = m.learnHost(&o.Host, p.context, seen-p.peak())
	}
	m.learnModel(&o.Spec, seen-p.context, p.rest)
	return nil
}

// learnScore adds the error of the prediction to those that intervals use. The
// scores of strangers are no errors but promises of a few quantiles about an
// architecture that nobody saw, so that one error has no place among them.
func (m *Predictor) learnScore(o *Observation, p *prediction) {
	if p.part == nil || p.spread <= 0 || p.scores == &p.part.Strange {
		return
	}
	s := num.Round9(math.Log(float64(o.Peak)/p.peak()) / p.spread)
	scores := p.scores.Scores
	if len(scores) >= mostScores || !num.Finite(s) {
		return
	}
	at, _ := slices.BinarySearch(scores, s)
	p.scores.Scores = slices.Insert(scores, at, s)
}

// learnHost moves the context of a named host towards what was seen and returns
// it. A host never seen starts from this one observation.
func (m *Predictor) learnHost(h *predict.Host, context, off float64) float64 {
	if _, measured := h.Context.Get(); measured || h.Name == "" {
		return context
	}
	off = min(biggestStep, max(-biggestStep, off))
	at, known := slices.BinarySearchFunc(m.hosts, h.Name, func(a host, name string) int { return cmp.Compare(a.Name, name) })
	if !known && len(m.hosts) >= mostHosts {
		return context
	}
	if !known {
		m.hosts = slices.Insert(m.hosts, at, host{Name: h.Name})
		m.hosts[at].Context = num.Round9(max(1, context+off))
		m.hosts[at].Rows = 1
		return m.hosts[at].Context
	}
	host := &m.hosts[at]
	host.Rows++
	host.Context = num.Round9(max(1, context+off/float64(host.Rows+hostShrink)))
	return host.Context
}

// learnModel moves the offset of a named model towards seen/predicted.
func (m *Predictor) learnModel(spec *profile.Spec, seen, predicted float64) {
	if spec.Model.Name == "" || predicted <= 0 {
		return
	}
	ratio := min(2, max(-2, math.Log(max(seen, predicted/8)/predicted)))
	key := modelKey(spec)
	at, known := m.findModel(key)
	if !known {
		if len(m.learned) >= mostModels {
			old := slices.MinFunc(m.learned, func(a, b learnedModel) int { return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Key, b.Key)) })
			m.learned = slices.DeleteFunc(m.learned, func(l learnedModel) bool { return l.Key == old.Key })
			at, _ = m.findModel(key)
		}
		m.learned = slices.Insert(m.learned, at, learnedModel{Key: key})
	}
	l := &m.learned[at]
	l.Order = m.told
	// ratio is against a prediction that already has the shrunk offset.
	full := l.Offset*l.weight() + ratio
	l.Rows++
	l.Offset = num.Round9(l.Offset + (full-l.Offset)/float64(l.Rows))
}

// Calibrate measures the context of a host or software stack from tasks that
// ran there: the median of what they used beyond what the model says they need
// themselves, each counted by how little that is: small tasks tell most. One task
// is enough, three are better. The model is not changed; pass the result to Peak and
// Reserve.
//
// It returns an error for an invalid observation and for no uncensored one.
// O(observations × (layers + trees)).
func (m *Predictor) Calibrate(name string, obs []Observation) (predict.Host, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var all beyond
	for i := range obs {
		o := &obs[i]
		if err := o.check(); err != nil {
			return predict.Host{}, fmt.Errorf("predict: calibrate memory: observation %d: %w", i, err)
		}
		if o.Censored {
			continue
		}
		p, err := m.predict(&o.Spec, predict.Host{})
		if err != nil {
			return predict.Host{}, err
		}
		all.add(float64(o.Peak), p.rest)
	}
	if len(all.tasks) == 0 {
		return predict.Host{}, errors.New("predict: calibrate memory: no task that ran to its end")
	}
	context := profile.BytesOf(all.context())
	return predict.Host{Name: name, Context: profile.Some(context)}, nil
}

// beyond collects what tasks used beyond what a model says they need themselves.
type beyond struct {
	tasks []struct{ over, weight float64 }
	total float64
}

// add notes a task's peak, and what it needs itself.
func (b *beyond) add(peak, rest float64) {
	weight := 1 / max(1, rest)
	b.tasks = append(b.tasks, struct{ over, weight float64 }{peak - rest, weight})
	b.total += weight
}

// context is the median, each task counted by how little it needs itself.
func (b *beyond) context() float64 {
	slices.SortFunc(b.tasks, func(x, y struct{ over, weight float64 }) int {
		return cmp.Or(cmp.Compare(x.over, y.over), cmp.Compare(x.weight, y.weight))
	})
	mid, below := 0.0, 0.0
	for _, t := range b.tasks {
		if mid, below = t.over, below+t.weight; below >= b.total/2 {
			break
		}
	}
	return num.Round9(min(max(mid, 0), float64(predict.MaxContext)))
}

// Clone returns an independent copy: what either learns from now on, the other
// does not. Safe for concurrent use. O(what was learned).
func (m *Predictor) Clone() *Predictor {
	m.mu.RLock()
	defer m.mu.RUnlock()
	c := &Predictor{
		traced: m.traced.clone(), hosts: slices.Clone(m.hosts), learned: slices.Clone(m.learned), floors: slices.Clone(m.floors),
		told: m.told, from: m.from, together: m.together,
	}
	for k, p := range m.parts {
		c.parts[k] = p.clone()
	}
	return c
}

// clone copies a part with the scores that Observe adds to; all else never changes.
func (p *part) clone() *part {
	if p == nil {
		return nil
	}
	c := *p
	c.Scores.Scores = slices.Clone(p.Scores.Scores)
	return &c
}

// Seen is what [Predictor.Observe] was told of one task.
type Seen struct {
	// Peak is the largest that was measured, Reached the most that the task had when
	// it ran out of memory, Raised what is reserved since such a death until a peak is
	// measured. 0 is none.
	Peak    profile.Bytes `json:"peak_bytes,omitempty"`
	Reached profile.Bytes `json:"reached_bytes,omitempty"`
	Raised  profile.Bytes `json:"raised_bytes,omitempty"`
	// Least is the least that is reserved for the task, see [Predictor.Least].
	Least profile.Bytes `json:"least_bytes,omitempty"`
	// Runs is of how many tasks of its model, data set, precision and optimiser, at any
	// batch, peaks taught something, and Factor by how much these move what is
	// predicted: 1 is not at all.
	Runs   int     `json:"runs,omitempty"`
	Factor float64 `json:"factor"`
}

// Seen tells what was learned of a task; known is as for [Predictor.LeastOf]. The
// zero value but for a Factor of 1 is nothing.
func (m *Predictor) Seen(spec *profile.Spec, known profile.Bytes) Seen {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := Seen{Factor: 1}
	if f := m.floor(spec, known); f != nil {
		s.Peak, s.Reached, s.Raised, s.Least = f.Peak, f.Reached, f.Raised, f.least()
	}
	if spec == nil || spec.Model.Name == "" {
		return s
	}
	if at, ok := m.findModel(modelKey(spec)); ok {
		l := &m.learned[at]
		s.Runs, s.Factor = l.Rows, math.Exp(l.Offset*l.weight())
	}
	return s
}
