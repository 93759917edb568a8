package interference

import (
	"sync"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/profile"
)

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
	fillRow(&w.row, w.set, i)
	level := familiarity(w.set, i)
	half := r.spread.halfWidth(r.post.Variance(&w.row), level, len(w.set))
	source := predict.Source{Kind: sourceOf(w.set), Distance: distance(w.set, i), Groups: r.spread.Groups[level]}
	if level%3 == 2 || level >= 6 { // a type that was never seen
		if source.Groups < leastGroups {
			prior := priorSpread()
			source.Kind, half = predict.Prior, max(half, prior.halfWidth(0, level, len(w.set)))
		}
	}
	if len(w.row.At) == 0 {
		half = 0
	}
	e := predict.Estimate{Value: speedOf(loss), Lo: speedOf(loss + half), Hi: speedOf(loss - half)}
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

// sourceOf is Fitted where every task is known by its use or by its type.
func sourceOf(set []member) predict.SourceKind {
	for i := range set {
		if !set[i].seen && set[i].typ == noEffect {
			return predict.Prior
		}
	}
	return predict.Fitted
}

// familiarity says how well a task and its neighbours are known, 0 best: for the
// task, its type was among the data of the fit, was observed since, only its
// model is known, or nothing; for its neighbours, all among the data, all at
// least observed, or not.
func familiarity(set []member, i int) int {
	neighbours := 0
	for j := range set {
		if j == i {
			continue
		}
		neighbours = max(neighbours, min(set[j].acquaintance(), 2))
	}
	return 3*set[i].acquaintance() + neighbours
}

// expected fills w with the row of task i and returns the half width of its
// interval.
func (r *regime) expected(set []member, i int, w *lsq.Row) float64 {
	fillRow(w, set, i)
	return r.spread.halfWidth(r.post.Variance(w), familiarity(set, i), len(set))
}
