package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/colloc/profile"
)

// Interference predicts how fast tasks run side by side on one GPU, as a share
// of their speed alone. For task i of a set it adds up a loss over the others,
//
//	L_i = e_i + Σ_{j≠i} max(0, Σ_k β_k φ_k(i,j) + c_j + T(i,j)) + excess
//	speed_i = 1 − L_i, or ¼/L_i where L_i > ½
//
// with physical overlap terms φ and slopes β ≥ 0 (see pairTerms), random effects
// e and c of the task's type and model (how far its solo measurement is off, how
// hard it is on others), boosted trees T of what the terms leave over, and the
// excess of three or more tasks over their pairs. β, e and c are one ridge
// regression per GPU product and mechanism, because nothing transfers between
// GPUs without loss. Measurements of a new pair update it; see [Interference.Observe].
//
// Whatever was learned: an empty neighbourhood gives speed 1, a neighbour that
// uses nothing costs nothing, neither more use of a neighbour nor one more
// neighbour ever raises a speed, and every speed is in (0, 1]. The order of tasks
// does not change one bit of a speed or its interval. A pair of which neither use nor model of one side is known
// is judged by the terms alone.
//
// An Interference is safe for concurrent use. The zero value is a model that
// has seen nothing: it answers by the prior.
type Interference struct {
	writer sync.Mutex // held by whoever changes the model
	state  atomic.Pointer[interferenceState]
}

// interferenceState is what one prediction reads; it never changes once stored.
type interferenceState struct {
	options InterferenceOptions
	regimes []*regime
	priors  [profile.Mechanisms]*regime // for GPUs that no regime fits
}

// regimeKey names a set of parameters.
type regimeKey struct {
	gpu       string
	mechanism profile.Mechanism
}

// regime holds the parameters of one (GPU, mechanism).
type regime struct {
	regimeKey
	roster  *roster
	lambda  []float64  // precision of the prior of each column
	mu      []float64  // mean of the prior of each column
	base    *normal    // what the fit saw
	learned *normal    // what Observe saw; only the writer reads it
	post    *posterior // the solution of all of it
	trees   *trees     // what the terms leave over, for types like those fitted; nil is none
	memo    *treeMemo  // what the trees said before; nil asks them each time
	spread  spread
	drift   drift
}

// A SpeedObservation is one measured co-run of a set of tasks.
type SpeedObservation struct {
	// GPU is the product's name in the catalogue, for example "RTX3090"; any
	// other name stands for itself.
	GPU string
	// Mechanism is how the tasks shared it: TimeSlice or MPS.
	Mechanism profile.Mechanism
	// Set holds the solo profiles of the tasks.
	Set []*profile.Profile
	// Speeds holds, per task, throughput beside the others over throughput
	// alone; missing where it was not measured.
	Speeds []profile.Opt[float64]
	// Groups holds, per task, the family that validation leaves out at once; nil
	// means the model's name.
	Groups []string
}

// ErrMechanism says that a mechanism has no interference to predict: tasks that
// share nothing.
var ErrMechanism = errors.New("mechanism does not share one GPU among running tasks")

// state returns the current parameters; a zero Interference has only priors.
func (m *Interference) load() *interferenceState {
	if s := m.state.Load(); s != nil {
		return s
	}
	s := newState(InterferenceOptions{}, nil)
	m.state.CompareAndSwap(nil, s)
	return m.state.Load()
}

// regime returns the parameters for a GPU and mechanism, and whether they were
// fitted or learned rather than being the prior.
func (s *interferenceState) regime(gpu string, mech profile.Mechanism) (*regime, bool) {
	for _, r := range s.regimes {
		if r.mechanism == mech && r.gpu == gpu {
			return r, true
		}
	}
	return s.priors[mech], false
}

// Speeds appends to dst one estimate per task of set, in the order of set: its
// speed beside the others as a share of its speed alone, in (0, 1]. A nil
// profile is a task of which nothing is known. [Source.Distance] is 0 where all
// types are among the data of the fit, ½ where only the model is, 1 where
// nothing like it is, averaged over the task and its neighbours; it is 1 beside
// a task of which neither use nor model is known, and 0 for a prior.
//
// Beyond two tasks the interval widens by half per further task, because no
// public measurement of larger sets has a solo reference.
//
// It returns an error that wraps [ErrMechanism] for MIG (see [MIGSpeed]) and for
// several tasks under Exclusive. It does not allocate when dst has room.
// O(k² · (terms + trees)).
func (m *Interference) Speeds(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, dst []Estimate) ([]Estimate, error) {
	return m.speeds(gpu, mech, set, dst, false)
}

// Ratios is Speeds without the cap at 1: what a measurement against the tasks'
// own solo references would show. A task whose solo run was measured too slow
// shows ratios above 1 beside a light neighbour; plans should use Speeds.
func (m *Interference) Ratios(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, dst []Estimate) ([]Estimate, error) {
	return m.speeds(gpu, mech, set, dst, true)
}

func (m *Interference) speeds(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, dst []Estimate, ratio bool) ([]Estimate, error) {
	if len(set) > 1 || mech == profile.MIG {
		if err := checkSharing(mech); err != nil {
			return dst, err
		}
	}
	s := m.load()
	if len(set) < 2 {
		for range set {
			dst = append(dst, s.alone())
		}
		return dst, nil
	}
	r, known := s.regime(gpuName(gpu), mech)
	w := gather(r, set)
	defer scratchPool.Put(w)
	w.arrange()
	first := len(dst)
	dst = slices.Grow(dst, len(set))[:first+len(set)]
	for i, place := range w.place {
		dst[first+place] = s.estimate(r, known, w, i, ratio)
	}
	return dst, nil
}

// alone is the speed of a task without neighbours.
func (s *interferenceState) alone() Estimate {
	return Estimate{Value: 1, Lo: 1, Hi: 1, Confidence: s.options.Confidence, Source: Source{Kind: Measured}}
}

func (s *interferenceState) estimate(r *regime, known bool, w *scratch, i int, ratio bool) Estimate {
	e := r.estimate(w, i, ratio)
	e.Confidence = s.options.Confidence
	if !known {
		e.Source = Source{Kind: Prior}
	}
	return e
}

// gather takes working memory from the pool and fills it with the members of set.
func gather(r *regime, set []*profile.Profile) *scratch {
	w, _ := scratchPool.Get().(*scratch)
	w.set = w.set[:0]
	for _, p := range set {
		w.set = append(w.set, r.roster.member(p))
	}
	return w
}

// arrange puts the members into an order that depends on nothing but them, and
// notes their places in the set: rounding then gives every task the same sums
// over its neighbours, whatever the order of the set. Members between which
// compare sees no difference are the same to every neighbour. O(k²) at most.
func (w *scratch) arrange() {
	w.place = w.place[:0]
	for i := range w.set {
		w.place = append(w.place, i)
	}
	if len(w.set) < 3 { // one neighbour has one order
		return
	}
	for i := 1; i < len(w.set); i++ {
		for j := i; j > 0 && w.set[j].compare(&w.set[j-1]) < 0; j-- {
			w.set[j], w.set[j-1] = w.set[j-1], w.set[j]
			w.place[j], w.place[j-1] = w.place[j-1], w.place[j]
		}
	}
}

// scratch is the working memory of one prediction.
type scratch struct {
	set   []member
	place []int // of each member in the caller's set, by arrange
	row   sparse
	cov   []float64 // of one row's prediction with every coefficient
}

//nolint:gochecknoglobals // a pool of working memory, without state
var scratchPool = sync.Pool{New: func() any { return &scratch{} }}

// gpuName is the name under which a product is kept, here and in [Completion].
func gpuName(gpu *profile.GPUModel) string { return gpu.Canonical() }

func checkSharing(mech profile.Mechanism) error {
	if mech != profile.TimeSlice && mech != profile.MPS {
		return fmt.Errorf("predict: interference: %v: %w; want time-slicing or mps", mech, ErrMechanism)
	}
	return nil
}

// estimate predicts task i of the set in w.
func (r *regime) estimate(w *scratch, i int, ratio bool) Estimate {
	loss := r.loss(w.set, i, ratio)
	fillRow(&w.row, w.set, i)
	level := familiarity(w.set, i)
	half := r.spread.halfWidth(r.post.variance(&w.row), level, len(w.set))
	if len(w.row.at) == 0 {
		half = 0
	}
	e := Estimate{Value: speedOf(loss), Lo: speedOf(loss + half), Hi: speedOf(loss - half)}
	if !ratio {
		e.Value, e.Lo, e.Hi = min(1, e.Value), min(1, e.Lo), min(1, e.Hi)
	}
	e.Value, e.Lo, e.Hi = max(LeastSpeed, e.Value), max(LeastSpeed, e.Lo), max(LeastSpeed, e.Hi)
	e.Source = Source{Kind: sourceOf(w.set), Distance: distance(w.set, i)}
	return e
}

// distance is what Source.Distance documents.
func distance(set []member, i int) float64 {
	var sum float64
	for j := range set {
		switch {
		case j == i:
		case plainPair(&set[i], &set[j]):
			sum += 2
		default:
			sum += set[i].distance() + set[j].distance()
		}
	}
	return sum / float64(2*(len(set)-1))
}

func (m *member) distance() float64 {
	switch {
	case m.trained:
		return 0
	case m.model != noEffect:
		return 0.5
	}
	return 1
}

// sourceOf is Fitted where every task is known by its use or by its type.
func sourceOf(set []member) SourceKind {
	for i := range set {
		if !set[i].seen && set[i].typ == noEffect {
			return Prior
		}
	}
	return Fitted
}

// familiarity says how well a task and its neighbours are known, 0 best: for the
// task, its type was among the data of the fit, was observed since, only its
// model is known, or nothing; for its neighbours, all among the data, all at
// least observed, or not. With a stranger among them nothing is known.
func familiarity(set []member, i int) int {
	neighbours := 0
	for j := range set {
		if j == i {
			continue
		}
		if plainPair(&set[i], &set[j]) {
			return familiarities - 1
		}
		neighbours = max(neighbours, min(set[j].acquaintance(), 2))
	}
	return 3*set[i].acquaintance() + neighbours
}

func (m *member) acquaintance() int {
	switch {
	case m.trained:
		return 0
	case m.typ != noEffect:
		return 1
	case m.model != noEffect:
		return 2
	}
	return 3
}

const familiarities = 12

// spread turns a prediction's variance into the half width of its interval.
type spread struct {
	// Noise is the standard deviation of one measured loss.
	Noise float64 `json:"noise"`
	// Factor holds, per familiarity, the conformal quantile of
	// |error| / (Noise √(1 + variance)) over tasks that the fit had not seen.
	Factor [familiarities]float64 `json:"factor"`
}

func (s *spread) halfWidth(variance float64, level, tasks int) float64 {
	wider := 1 + 0.5*float64(max(0, tasks-2))
	return wider * s.Factor[level] * s.Noise * math.Sqrt(1+variance)
}
