package predict

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"example.com/colloc/profile"
)

// Memory predicts the peak device memory of a training task. Make one with
// [FitMemory], [LoadMemory] or package pretrained; the zero Memory predicts by
// rules of thumb alone.
//
// A Memory is safe for concurrent use.
type Memory struct {
	mu      sync.RWMutex                  // of what Observe changes
	parts   [profile.Families]*memoryPart // with layers, by family
	traced  *memoryPart                   // with a shape-only run
	hosts   []memoryHost                  // sorted by name
	learned []learnedModel                // sorted by key
	from    Provenance

	together *TogetherMemory
}

// memoryHost is what was learned of one host or software stack.
type memoryHost struct {
	Name    string  `json:"name"`
	Context float64 `json:"context_bytes"`
	// Rows is how many tasks it was learned from.
	Rows int `json:"rows"`
}

// Provenance returns what the model was fitted to.
func (m *Memory) Provenance() Provenance { return m.from }

// Together returns what tasks that share a GPU need beyond the sum of their
// peaks. It is shared with m and never changes.
func (m *Memory) Together() *TogetherMemory {
	if m.together == nil {
		return &TogetherMemory{}
	}
	return m.together
}

// confidence is what the intervals of Peak cover.
const confidence = 0.9

// Peak predicts the peak device memory of spec in bytes, as nvidia-smi counts
// it: context, libraries and the framework's cache included. The interval
// covers 90 %.
//
// The source is Fitted where tasks of the model's family, or shape-only runs
// ([profile.Traced]), were measured, and Prior otherwise, Measured after [Memory.Observe]
// of the model: under a prior the terms have
// the coefficients that PyTorch's allocator suggests, and the interval is wide.
// Distance is the largest of the features' distances from the middle of their
// range in the data, in half ranges; the interval widens in proportion beyond 1.
//
// It returns an error for an invalid Spec and a host context that no GPU has.
// O(layers + trees), no allocation.
func (m *Memory) Peak(spec *profile.Spec, host Host) (Estimate, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p, err := m.predict(spec, host)
	if err != nil {
		return Estimate{}, err
	}
	const tail = (1 - confidence) / 2
	lo, value, hi := p.quantile(p.scores.lower(tail)), p.peak(), p.quantile(p.scores.upper(tail))
	return Estimate{
		Value: value, Lo: min(max(0, lo-p.doubtLo), value), Hi: max(hi+p.doubtHi, value), Confidence: confidence, Source: p.source,
	}, nil
}

// Reserve returns the memory to set aside for spec so that
//
//	P(peak > reservation) ≤ risk
//
// for a task exchangeable with the data, by split conformal prediction. risk is
// in (0, 1); 0.01 is common. A source of Prior has no such guarantee. Errors and
// cost as for [Memory.Peak].
func (m *Memory) Reserve(spec *profile.Spec, host Host, risk float64) (profile.Bytes, error) {
	if err := checkRisk(risk); err != nil {
		return 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	p, err := m.predict(spec, host)
	if err != nil {
		return 0, err
	}
	return profile.BytesOf(p.quantile(p.scores.upper(risk)) + p.doubtHi), nil
}

// prediction is a task's memory on one host.
type prediction struct {
	memoryPoint
	scores  *conformal
	part    *memoryPart // nil for a prior, whose scores nothing may change
	base    float64     // context that the spread refers to
	doubtLo float64     // what an unknown host may need less, bytes
	doubtHi float64     // and more
	source  Source
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
func (m *Memory) predict(spec *profile.Spec, host Host) (prediction, error) {
	if spec == nil {
		return prediction{}, errors.New("predict: memory: the spec is nil")
	}
	if !plausible(spec) {
		if err := spec.Validate(); err != nil {
			return prediction{}, fmt.Errorf("predict: memory: %w", err)
		}
	}
	context, known := host.Context.Get()
	if context < 0 || context > maxContext {
		return prediction{}, fmt.Errorf("predict: memory: host %q: context is %v, want 0 to %v", host.Name, context, maxContext)
	}
	part, at, kind := m.choose(spec)
	p := prediction{memoryPoint: at, scores: &part.Scores}
	p.source = Source{Kind: kind, Distance: p.distance}
	if kind == Prior {
		p.source.Distance = 0
	}
	p.base = p.context
	if kind != Prior {
		p.part = part
	}
	p.settle(m, host.Name, context, known)
	m.apply(spec, &p)
	return p, nil
}

// plausible is a check that costs nothing: a spec that passes is valid, one that
// does not is left to Validate, which can tell why.
func plausible(spec *profile.Spec) bool {
	const most = profile.MaxCount / (1 << 12) // layers × most cannot pass MaxCount
	layers := spec.Model.Layers
	ok := len(layers) < 1<<12
	for i := range layers {
		l := &layers[i]
		macs := l.MACs.Or(0)
		ok = ok && l.Kind >= 0 && int(l.Kind) < profile.LayerKinds && l.Neurons >= 0 && l.Neurons <= most &&
			l.Params >= 0 && l.Params <= most && l.Activations >= 0 && l.Activations <= most && macs >= 0 && macs <= most
	}
	t := &spec.Training
	ok = ok && spec.Model.Family >= 0 && int(spec.Model.Family) < profile.Families &&
		t.BatchSize >= 1 && t.BatchSize <= profile.MaxBatch && t.Workers >= 0 && t.Workers < 1<<20 &&
		t.GPUs >= 0 && t.GPUs < 1<<20 && t.Precision >= 0 && int(t.Precision) < profile.Precisions &&
		t.Optimizer >= 0 && int(t.Optimizer) < profile.Optimizers &&
		t.Parallelism >= 0 && int(t.Parallelism) < profile.Parallelisms
	for _, n := range [...]int64{
		spec.Dataset.Samples.Or(0), spec.Dataset.SampleElements.Or(0), int64(spec.Dataset.SampleBytes.Or(0)),
		int64(spec.Traced.AfterForward.Or(0)), int64(spec.Traced.AfterBackward.Or(0)),
	} {
		ok = ok && n >= 0 && n <= profile.MaxCount
	}
	return ok
}

// maxContext bounds a host's context: beyond it the number is a mistake.
const maxContext = 64 * profile.GiB

// Doubt about a stack whose context nobody measured: the fitted one is among
// the largest known (1.4 GiB more than a lazily loading CUDA 12 needs).
const (
	unknownLess = 1200 * profile.MiB
	unknownMore = 400 * profile.MiB
)

// settle exchanges the fitted context for the host's.
func (p *prediction) settle(m *Memory, name string, context profile.Bytes, known bool) {
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
	if p.source.Kind != Prior {
		p.source.Distance = max(p.source.Distance, 1.5)
	}
}

// host returns what is known of a host, or nil.
func (m *Memory) host(name string) *memoryHost {
	for i := range m.hosts {
		if m.hosts[i].Name == name {
			return &m.hosts[i]
		}
	}
	return nil
}

// choose predicts a task by the part that knows such tasks best: the family's,
// or the one for shape-only runs where there is one; of both, the surer.
func (m *Memory) choose(spec *profile.Spec) (*memoryPart, memoryPoint, SourceKind) {
	var t memoryTask
	t.describe(spec)
	layered := t.outputs > 0
	part, kind := &blindPrior, Prior
	if layered {
		part = &layeredPrior
		if p := m.parts[spec.Model.Guess()]; p != nil {
			part, kind = p, Fitted
		}
	}
	traced := !spec.Traced.AfterForward.IsZero() || !spec.Traced.AfterBackward.IsZero()
	if !traced || m.traced == nil {
		return part, part.at(&t), kind
	}
	at := part.at(&t)
	t.describeTraced(spec)
	other := m.traced.at(&t)
	if kind == Fitted && at.spread*part.Scores.upper(0.01) <= other.spread*m.traced.Scores.upper(0.01) {
		return part, at, kind
	}
	return m.traced, other, Fitted
}
