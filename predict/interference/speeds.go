package interference

import (
	"fmt"
	"slices"
	"sync"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/profile"
)

// Speeds appends to dst one estimate per task of set, in the order of set: its
// speed beside the others as a share of its speed alone, in (0, 1]. A nil
// profile is a task of which nothing is known. [predict.Source.Distance] is 0 where all
// types are among the data of the fit, ½ where only the model is, 1 where
// nothing like it is, averaged over the task and its neighbours; it is 1 beside
// a task of which neither use nor model is known, and 0 for a prior.
//
// Beyond two tasks the interval widens by half per further task, up to that of a pair
// of which nothing was measured: what is public of larger sets lies within it.
//
// It returns an error that wraps [ErrMechanism] for MIG (see [pace.MIGSpeed]) and for
// several tasks under Exclusive. It does not allocate when dst has room.
// O(k² · (terms + trees)).
func (m *Predictor) Speeds(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, dst []predict.Estimate) ([]predict.Estimate, error) {
	return m.speeds(gpu, mech, set, dst, false)
}

// Ratios is Speeds without the cap at 1: what a measurement against the tasks'
// own solo references would show. A task whose solo run was measured too slow
// shows ratios above 1 beside a light neighbour; plans should use Speeds.
func (m *Predictor) Ratios(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, dst []predict.Estimate) ([]predict.Estimate, error) {
	return m.speeds(gpu, mech, set, dst, true)
}

func (m *Predictor) speeds(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, dst []predict.Estimate, ratio bool) ([]predict.Estimate, error) {
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
func (s *state) alone() predict.Estimate {
	return predict.Estimate{Value: 1, Lo: 1, Hi: 1, Confidence: s.options.Confidence, Source: predict.Source{Kind: predict.Measured}}
}

func (s *state) estimate(r *regime, known bool, w *scratch, i int, ratio bool) predict.Estimate {
	e := r.estimate(w, i, ratio)
	e.Confidence = s.options.Confidence
	if !known {
		e.Source = predict.Source{Kind: predict.Prior}
	}
	return e
}

// Values is [Predictor.Speeds] without intervals and sources: it appends the
// same values to dst. It is for decisions that compare many sets.
func (m *Predictor) Values(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, dst []float64) ([]float64, error) {
	dst, _, err := m.values(gpu, mech, set, noTask, dst)
	return dst, err
}

// ValuesAndSpeed is [Predictor.Values] with the estimate, as by
// [Predictor.Speeds], of task i alone. It returns an error also where the set
// has no such task.
func (m *Predictor) ValuesAndSpeed(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, i int, dst []float64) ([]float64, predict.Estimate, error) {
	if i < 0 || i >= len(set) {
		return dst, predict.Estimate{}, fmt.Errorf("predict: interference: task %d of %d: %w", i, len(set), errIndex)
	}
	return m.values(gpu, mech, set, i, dst)
}

const noTask = -1

// values appends the values of the whole set; own is the task whose estimate is
// wanted, or noTask.
func (m *Predictor) values(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, own int, dst []float64) ([]float64, predict.Estimate, error) {
	if len(set) > 1 || mech == profile.MIG {
		if err := checkSharing(mech); err != nil {
			return dst, predict.Estimate{}, err
		}
	}
	s := m.load()
	if len(set) < 2 {
		for range set {
			dst = append(dst, 1)
		}
		return dst, s.alone(), nil
	}
	r, known := s.regime(gpuName(gpu), mech)
	w := gather(r, set)
	defer scratchPool.Put(w)
	w.arrange()
	var e predict.Estimate
	first := len(dst)
	dst = slices.Grow(dst, len(set))[:first+len(set)]
	for i, place := range w.place {
		if place == own {
			e = s.estimate(r, known, w, i, false)
			dst[first+place] = e.Value
			continue
		}
		dst[first+place] = r.curve().counted(r.loss(w.set, i, false))
	}
	return dst, e, nil
}

// Capped is [Predictor.Speeds] under MPS with active-thread percentages: caps
// holds, per task, the share of the SMs that it may use, in (0, 1]; nil caps
// nobody. A cap is no reservation: what one task may not use is there for the
// others, but not theirs alone.
//
// No public measurement has capped tasks with a solo reference, so that a cap
// enters by a physical prior, and the source of a set with one is Prior. With s
// the share of time in which a task alone keeps the SMs busy and c its cap,
//
//	t = (1 − s) + s/c        time per step, alone: kernels that would fill the GPU take 1/c as long
//	s/t, d/t                 what it asks of SMs and memory then, as a neighbour
//	speed = speed beside the capped neighbours / t
//
// A kernel that needs no more than c loses nothing, so that Hi is the speed
// without the task's own cap. A cap of 1 changes nothing; a lower cap never raises
// the speed of its task nor lowers that of another.
//
// It returns an error for caps of another length than set and for a cap outside
// (0, 1]. O(k² · (terms + trees)).
func (m *Predictor) Capped(gpu *profile.GPUModel, set []*profile.Profile, caps []float64, dst []predict.Estimate) ([]predict.Estimate, error) {
	if caps == nil {
		return m.Speeds(gpu, profile.MPS, set, dst)
	}
	if len(caps) != len(set) {
		return dst, fmt.Errorf("predict: interference: %d caps for %d tasks, want as many", len(caps), len(set))
	}
	anyCap := false
	for i, c := range caps {
		if !(c > 0 && c <= 1) {
			return dst, fmt.Errorf("predict: interference: cap of task %d is %v, want more than 0 and at most 1", i, c)
		}
		anyCap = anyCap || c < 1
	}
	if !anyCap {
		return m.Speeds(gpu, profile.MPS, set, dst)
	}
	s := m.load()
	r, known := s.regime(gpuName(gpu), profile.MPS)
	w := gather(r, set)
	defer scratchPool.Put(w)
	free := append([]member(nil), w.set...) // in the order of the set
	for i := range w.set {
		t := free[i].stretch(caps[i])
		w.set[i].sm, w.set[i].dram = free[i].sm/t, free[i].dram/t
		w.set[i].remember()
	}
	w.arrange()
	first := len(dst)
	dst = slices.Grow(dst, len(set))[:first+len(set)]
	for i, place := range w.place {
		capped := w.set[i]
		w.set[i] = free[place]
		e := s.alone()
		if len(set) > 1 {
			e = s.estimate(r, known, w, i, false)
		}
		w.set[i] = capped
		t := free[place].stretch(caps[place])
		e.Value, e.Lo = max(predict.LeastSpeed, e.Value/t), max(predict.LeastSpeed, e.Lo/t)
		e.Source = predict.Source{Kind: predict.Prior}
		dst[first+place] = e
	}
	return dst, nil
}

// scratch is the working memory of one prediction.
type scratch struct {
	set   []member
	place []int // of each member in the caller's set, by arrange
	row   lsq.Row
	cov   []float64 // of one row's prediction with every coefficient
}

//nolint:gochecknoglobals // a pool of working memory, without state
var scratchPool = sync.Pool{New: func() any { return &scratch{} }}

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

// gather takes working memory from the pool and fills it with the members of set.
func gather(r *regime, set []*profile.Profile) *scratch {
	w, _ := scratchPool.Get().(*scratch)
	w.set = w.set[:0]
	for _, p := range set {
		w.set = append(w.set, r.roster.member(p))
	}
	return w
}

// estimate predicts task i of the set in w.
func (r *regime) estimate(w *scratch, i int, ratio bool) predict.Estimate {
	loss := r.loss(w.set, i, ratio)
	variance, level := r.doubt(w.set, i, loss, &w.row)
	slower, faster := r.halves(variance, level, len(w.set))
	source := predict.Source{Kind: r.sourceOf(w.set), Distance: distance(w.set, i), Groups: r.spread.Groups[level]}
	serves, seen := servers(w.set)
	byLaw := serves && seen // of a few pairs
	if byLaw || level >= knownLevels && (source.Groups < leastGroups || r.roster.blind && source.Kind == predict.Prior) {
		source.Kind, slower, faster = predict.Prior, max(slower, mostHalf), max(faster, mostHalf)
	}
	if len(w.row.At) == 0 && !byLaw {
		slower, faster = 0, 0
	}
	e := predict.Estimate{Value: r.curve().speed(loss)}
	e.Lo, e.Hi = r.curve().ends(loss, slower, faster)
	if !ratio {
		e.Value, e.Lo, e.Hi = min(1, e.Value), min(1, e.Lo), min(1, e.Hi)
	}
	e.Value, e.Lo, e.Hi = max(predict.LeastSpeed, e.Value), max(predict.LeastSpeed, e.Lo), max(predict.LeastSpeed, e.Hi)
	e.Source = source
	return e
}

// leastGroups is how many families a promise about another one takes.
const leastGroups = 3

// distance is what Source.Distance documents.
func distance(set []member, i int) float64 {
	var sum float64
	for j := range set {
		if j != i {
			sum += set[i].distance() + set[j].distance()
		}
	}
	return sum / float64(2*(len(set)-1))
}

// sourceOf is Fitted where every task is known by its type, or by its use where the fit
// saw what use costs.
func (r *regime) sourceOf(set []member) predict.SourceKind {
	for i := range set {
		if set[i].typ == noEffect && (!set[i].seen || r.roster.blind) {
			return predict.Prior
		}
	}
	return predict.Fitted
}

// familiarity says how well a task and its neighbours are known, 0 best, where their types
// are all of the fit; then, where all were met, by the variance of its prediction; then those
// of whom its own type is known, its model, or nothing, beside known neighbours or strangers.
func familiarity(set []member, i int, variance float64) int {
	strangers, fitted := 0, true
	for j := range set {
		fitted = fitted && set[j].fitted
		if j != i && set[j].typ == noEffect {
			strangers = 1
		}
	}
	if fitted {
		return 0
	}
	own := set[i].acquaintance()
	if own+strangers > 0 {
		return knownLevels + 2*own + strangers - 1
	}
	for level, most := range knownUpTo() {
		if variance <= most {
			return 1 + level
		}
	}
	return knownLevels - 1
}

// doubt fills w with the row of task i and returns the variance of its predicted loss, in the
// unit of the curve, and how familiar its set is.
func (r *regime) doubt(set []member, i int, loss float64, w *lsq.Row) (variance float64, level int) {
	r.fillRow(w, set, i)
	unit := r.curve().unit(loss)
	variance = unit * unit * r.post.Variance(w)
	return variance, familiarity(set, i, variance)
}

// expected fills w with the row of task i and returns the half width of the interval
// that a measurement of it is judged by.
func (r *regime) expected(set []member, i int, w *lsq.Row) float64 {
	variance, level := r.doubt(set, i, r.loss(set, i, true), w)
	return r.spread.usual(variance, level, len(set))
}
