package pace

import (
	"math"
	"sync"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// DefaultReference is the fastest card of the catalogue: its pace is 1.
const DefaultReference = "GB300-288GB"

// state is one immutable version of a Predictor.
type state struct {
	coefficients
	reference kind
	tasks     map[taskKey][]seen // each by name of the card
	told      uint64             // order of the newest observation
}

// coefficients are what a fit finds, in the form of the file.
type coefficients struct {
	Weights    [profile.Families][2]weights `json:"weights"`  // by family; FP32 and TF32, 16 bits
	Fullness   float64                      `json:"fullness"` // how much a small batch shrinks the weights of CNNs
	Factor     float64                      `json:"factor"`   // conformal quantile of |error of log ratio| / spread
	Lo         rates                        `json:"lo"`       // least rates of the data's cards
	Hi         rates                        `json:"hi"`       // largest
	Confidence float64                      `json:"confidence"`
	Rows       int                          `json:"rows"`
	Groups     int                          `json:"groups"`
	Provenance string                       `json:"provenance,omitempty"`
}

// priorFactor makes the prior's intervals a third wider than the fit's.
const priorFactor = 0.54

const priorConfidence = 0.9

//nolint:gochecknoglobals // a read-only version
var priorState = sync.OnceValue(func() *state {
	s := &state{coefficients: coefficients{Factor: priorFactor, Confidence: priorConfidence}}
	for f := range s.Weights {
		s.Weights[f] = [2]weights{priorWeights, priorWeights}
	}
	s.reference = kindOf(&profile.GPUModel{Name: DefaultReference})
	return s
})

// taskKey is under what the throughputs of a task are kept.
type taskKey struct {
	Model     string            `json:"model"`
	Dataset   string            `json:"dataset,omitempty"`
	Batch     int               `json:"batch"`
	Precision profile.Precision `json:"precision"`
	Params    float64           `json:"params,omitempty"` // of a model without a name
}

func keyOf(p *profile.Profile) (taskKey, bool) {
	s := &p.Spec
	key := taskKey{Model: s.Model.Name, Dataset: s.Dataset.Name, Batch: s.Training.BatchSize, Precision: s.Training.Precision}
	if key.Model == "" {
		key.Params = p.Vector.Or(profile.ParamCount, 0)
	}
	return key, key.Model != "" || key.Params > 0
}

// seen is what was measured of a task on one kind of card.
type seen struct {
	kind
	log   float64 // mean logarithm of the throughput
	n     int
	order uint64 // grows with every observation
}

// distance is how far a card is from the middle of those of the data, 1 at
// their edge.
func (s *state) distance(k *kind) float64 {
	if !k.known {
		return 0
	}
	far := 0.0
	for _, d := range [...][3]float64{
		{k.rates.Narrow, s.Lo.Narrow, s.Hi.Narrow},
		{k.rates.Wide, s.Lo.Wide, s.Hi.Wide},
		{k.rates.Bandwidth, s.Lo.Bandwidth, s.Hi.Bandwidth},
		{k.rates.FP32, s.Lo.FP32, s.Hi.FP32},
	} {
		if half := (d[2] - d[1]) / 2; half > 0 {
			far = max(far, math.Abs(d[0]-(d[1]+d[2])/2)/half)
		}
	}
	return far
}

// ratio compares two kinds of card for a task.
func (s *state) ratio(p *profile.Profile, a, b *kind) predict.Estimate {
	if a.same(b) {
		return predict.Estimate{Value: 1, Lo: 1, Hi: 1, Confidence: s.Confidence, Source: predict.Source{Kind: predict.Measured}}
	}
	q := s.question(p)
	v := q.view(a, b)
	log, half := min(max(v.log, -limit), limit), min(v.half, limit)
	e := predict.Estimate{Value: q.value(a, b), Lo: math.Exp(log - half), Hi: math.Exp(log + half), Confidence: s.Confidence}
	e.Lo, e.Hi = min(e.Lo, e.Value), max(e.Hi, e.Value)
	e.Source.Distance = max(s.distance(a), s.distance(b))
	switch {
	case v.measured:
		e.Source = predict.Source{Kind: predict.Measured}
	case s.Rows > 0 && a.known && b.known:
		e.Source.Kind = predict.Fitted
	default:
		e.Source = predict.Source{Kind: predict.Prior}
	}
	return e
}

// limit bounds a logarithm: no card is 1e18 times another.
const limit = 42

// value is the ratio of two kinds.
func (q *question) value(a, b *kind) float64 {
	var log float64
	switch {
	case len(q.seen) > 0:
		log = q.place(a).log - q.place(b).log
	case q.busy < 1:
		return min(max(q.time(&b.rates)/q.time(&a.rates), math.Exp(-limit)), math.Exp(limit))
	default:
		log = q.device(&a.rates) - q.device(&b.rates)
	}
	return math.Exp(min(max(log, -limit), limit))
}

// question is what is asked of all cards about one task.
type question struct {
	state  *state
	w      weights
	narrow int
	busy   float64 // share of the time that the GPU worked, 1 where unknown
	level  float64 // its log speed on the card where that was seen
	seen   []seen  // measured throughputs of the task
}

// fullBatch is the batch from which a convolutional network fills any card, and
// leastBatch the one below which it makes no difference.
const fullBatch, leastBatch = 64, 8

// emptiness is 0 for a full batch and -1 for the least.
func emptiness(p *profile.Profile, family profile.Family) float64 {
	if p == nil || family != profile.CNN {
		return 0
	}
	batch, ok := p.Vector.Get(profile.BatchSize)
	if !ok {
		return 0
	}
	return math.Log(min(max(batch, leastBatch), fullBatch)/fullBatch) / math.Log(fullBatch/leastBatch)
}

// narrowness is 1 for the 16-bit formats.
func narrowness(p *profile.Profile) int {
	if p != nil && p.Spec.Training.Precision.ElementBytes() == 2 {
		return 1
	}
	return 0
}

func familyOf(p *profile.Profile) profile.Family {
	if p == nil {
		return profile.UnknownFamily
	}
	if f := p.Spec.Model.Guess(); f >= 0 && int(f) < profile.Families {
		return f
	}
	return profile.UnknownFamily
}

func (s *state) question(p *profile.Profile) question {
	family := familyOf(p)
	q := question{state: s, narrow: narrowness(p), busy: 1}
	q.w = s.Weights[family][q.narrow]
	if shrink := s.Fullness * emptiness(p, family); shrink != 0 {
		for i := range q.w {
			q.w[i] = max(0, q.w[i]+float64(shrink*priorWeights[i]))
		}
	}
	if p == nil {
		return q
	}
	if key, ok := keyOf(p); ok {
		q.seen = s.tasks[key]
	}
	busy, ok := p.Vector.Get(profile.MeanGPUBusy)
	if !ok {
		busy, ok = p.Vector.Get(profile.MeanSMActive)
	}
	if !ok {
		return q
	}
	if home := kindOf(&p.GPU); home.known {
		q.level, q.busy = q.device(&home.rates), busy
	}
	return q
}

// device is the log speed of the device's part of a step.
func (q *question) device(r *rates) float64 {
	x := r.of(q.narrow)
	var sum float64
	for i := range x {
		sum += float64(q.w[i] * x[i])
	}
	return sum
}

// speed is the log speed on a card by its rates alone, up to a constant: time is
// the host's share, which stays, and the device's, which scales.
func (q *question) speed(r *rates) float64 {
	x := q.device(r)
	if q.busy >= 1 {
		return x
	}
	return -math.Log(q.time(r))
}

// time is that of a step on a card, where 1 is that of the card on which the use
// was seen.
func (q *question) time(r *rates) float64 {
	return 1 - q.busy + float64(q.busy*math.Exp(q.level-q.device(r)))
}

// view is a log ratio, its interval's half width and whether both were measured.
type view struct {
	log, half float64
	measured  bool
}

// spreadFloor is the error between two cards of the same rates, in units of apart: such that
// intervals of near cards and of far ones cover alike.
const spreadFloor = 0.7

// spread is the half width for two cards by their rates alone.
func (q *question) spread(a, b *kind) float64 {
	half := q.state.Factor * (spreadFloor + apart(&a.rates, &b.rates, q.narrow))
	half *= max(1, q.state.distance(a), q.state.distance(b))
	if !a.known || !b.known {
		half += unknownHalf
	}
	return half
}

func (q *question) view(a, b *kind) view {
	first, second := q.place(a), q.place(b)
	v := view{first.log - second.log, math.Hypot(first.half, second.half), first.measured && second.measured}
	if !first.measured && !second.measured {
		v.half = min(v.half, q.spread(a, b))
	}
	return v
}

// place is where a card stands on the task's scale of log throughput.
func (q *question) place(k *kind) view {
	const noise = 0.1 // half width of one measured throughput: 90 % of repeated runs agree better
	var level float64
	for i := range q.seen {
		x := &q.seen[i]
		if x.name == k.name {
			return view{x.log, noise / math.Sqrt(float64(x.n)), true}
		}
		level += (x.log - q.speed(&x.rates)) / float64(len(q.seen))
	}
	const reach, alone = 0.5, 0.3 // of eight settings, none of which mattered much: ADR 16
	var sum, weight float64
	half := math.Inf(1)
	for i := range q.seen {
		x := &q.seen[i]
		near := math.Exp(-apart(&x.rates, &k.rates, q.narrow) / reach)
		sum += near * (x.log - q.speed(&x.rates) - level)
		weight += near
		half = min(half, q.spread(k, &x.kind))
	}
	return view{level + q.speed(&k.rates) + sum/(weight+alone), half, false}
}
