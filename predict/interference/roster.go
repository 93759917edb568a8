package interference

import (
	"fmt"
	"maps"
	"slices"

	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/profile"
)

// taskType identifies tasks that are expected to behave alike, as
// [profile.Spec.Type] does, in a form that can be looked up without allocating.
// An effect may also belong to a whole model, at any data set, batch and
// precision.
type taskType struct {
	model, dataset string
	batch          int
	precision      profile.Precision
	all            bool // the whole model: the fields above but model are zero
}

// typeOf returns the type of a task and false where it has no name: tasks
// without a name are not taken for one another.
func typeOf(p *profile.Profile) (taskType, bool) {
	if p == nil || p.Spec.Model.Name == "" {
		return taskType{}, false
	}
	s := &p.Spec
	return taskType{model: s.Model.Name, dataset: s.Dataset.Name, batch: s.Training.BatchSize, precision: s.Training.Precision}, true
}

func (t taskType) whole() taskType { return taskType{model: t.model, all: true} }

// String names the type as profile.Spec.Type does, or the model alone.
func (t taskType) String() string {
	if t.all {
		return t.model
	}
	return fmt.Sprintf("%s|%s|bs%d|%s", t.model, t.dataset, t.batch, t.precision)
}

// effect is one random effect: what a task type, or all types of one model,
// lose more (or less) than the physical terms say, and cost their neighbours.
type effect struct {
	taskType
	// trained says that the type was among the data of the fit, not only
	// observed later.
	trained bool
	// traits are the effects on the task and on its neighbours as the fit found
	// them. They tell the trees what features cannot, and never change, so that
	// the trees say the same whatever is observed later.
	traits [2]float64
}

// roster numbers the effects of one regime in order of appearance. A clone is
// independent for adding; lookups of the original stay valid while a clone grows.
type roster struct {
	effects []effect
	index   map[taskType]int32
	// fitted is how many of them, the first, are of the data of [Fit], whose errors tell
	// how well such types are known however often each was measured.
	fitted int32
	// blind says that the fit saw nobody's use: its types are judged by their effects,
	// whatever use is known of a task.
	blind bool
}

func (r *roster) find(t taskType) int32 {
	if i, ok := r.index[t]; ok {
		return i
	}
	return noEffect
}

const noEffect int32 = -1

// mostEffects bounds a roster, as a solution takes the square of it in memory and the
// cube in time: tasks of further types are judged by what they use alone.
const mostEffects = 1024

// with returns a roster that knows t and its model, if there is room; r itself does
// not change.
func (r *roster) with(t taskType, trained bool) *roster {
	if r.find(t) != noEffect && r.find(t.whole()) != noEffect || len(r.effects)+2 > mostEffects {
		return r
	}
	grown := &roster{effects: append([]effect(nil), r.effects...), index: make(map[taskType]int32, len(r.index)+2), fitted: r.fitted, blind: r.blind}
	maps.Copy(grown.index, r.index)
	for _, k := range [2]taskType{t.whole(), t} {
		if grown.find(k) == noEffect {
			grown.index[k] = int32(len(grown.effects))
			grown.effects = append(grown.effects, effect{taskType: k, trained: trained})
		}
	}
	return grown
}

// trainedOn returns a roster of its own in which every type of obs is one of the
// data of the fit.
func (r *roster) trainedOn(obs []*Observation) *roster {
	for _, o := range obs {
		for _, p := range o.Set {
			if t, ok := typeOf(p); ok {
				r = r.with(t, true)
			}
		}
	}
	own := &roster{effects: slices.Clone(r.effects), index: r.index, fitted: r.fitted, blind: r.blind}
	for _, o := range obs {
		for _, p := range o.Set {
			if t, ok := typeOf(p); ok {
				for _, e := range [2]int32{own.find(t), own.find(t.whole())} {
					if e != noEffect {
						own.effects[e].trained = true
					}
				}
			}
		}
	}
	return own
}

// The columns of the linear model: an intercept, the physical terms, then for
// each effect the loss of the task itself and the loss it causes beside it.
const (
	interceptColumn = 0
	unseenColumn    = 1 // the intercept of tasks without observed use
	termColumns     = 2
	effectColumns   = termColumns + termCount
)

// slopes are the columns that are not negative: a use costs, or it does not.
func slopes() lsq.Span { return lsq.Span{First: termColumns, Count: termCount} }

// As many fit into a span: one term more does not compile.
const _ = uint(lsq.MostHeld - termCount)

func (r *roster) columns() int { return effectColumns + 2*len(r.effects) }

func ownColumn(e int32) int { return effectColumns + 2*int(e) }

func otherColumn(e int32) int { return ownColumn(e) + 1 }

// keepTraits stores the solved effects as traits.
func (r *roster) keepTraits(coef []float64) {
	for e := range r.effects {
		r.effects[e].traits = [2]float64{num.Round9(coef[ownColumn(int32(e))]), num.Round9(coef[otherColumn(int32(e))])}
	}
}

// Precisions of the priors, in units of one observation: how many measurements
// it takes to believe half of what they say. They are the ratio of the noise
// variance of one speed to the variance of what the column stands for, and were
// chosen by leave-one-model-out on Lucid. Twice or half of any changes the mean
// absolute error on families left out by at most 0.0013 on Lucid and 0.0026 on
// Gavel, and what is best for one is not for the other.
const (
	interceptPrecision  = 5
	unseenPrecision     = 0.5
	samePrecision       = 8
	termPrecision       = 2
	ownModelPrecision   = 1
	ownTypePrecision    = 2
	otherModelPrecision = 4
	otherTypePrecision  = 4
)

// Under MPS tasks differ by far more: a model with long kernels takes many times what it
// loses. Those of a model count half as much there as of a type; twice or half of either
// changes errors at random and on models left out by less than .002.
const (
	mpsTypePrecision  = 0.5
	mpsModelPrecision = 0.2
)

// precisions returns the prior precision of every column of a roster.
func (r *roster) precisions(mech profile.Mechanism) []float64 {
	lambda := make([]float64, r.columns())
	lambda[interceptColumn], lambda[unseenColumn] = interceptPrecision, unseenPrecision
	for k := range termCount {
		lambda[termColumns+k] = termPrecision
	}
	lambda[termColumns+sameModel] = samePrecision
	for e := range r.effects {
		own, other := float64(ownTypePrecision), float64(otherTypePrecision)
		if r.effects[e].all {
			own, other = ownModelPrecision, otherModelPrecision
		}
		if mech == profile.MPS {
			own = mpsTypePrecision
			if r.effects[e].all {
				own = mpsModelPrecision
			}
			other = own
		}
		lambda[ownColumn(int32(e))], lambda[otherColumn(int32(e))] = own, other
	}
	return lambda
}
