package predict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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
}

func (r *roster) find(t taskType) int32 {
	if i, ok := r.index[t]; ok {
		return i
	}
	return noEffect
}

const noEffect int32 = -1

// with returns a roster that knows t and its model; r itself does not change.
func (r *roster) with(t taskType, trained bool) *roster {
	if r.find(t) != noEffect && r.find(t.whole()) != noEffect {
		return r
	}
	grown := &roster{effects: append([]effect(nil), r.effects...), index: make(map[taskType]int32, len(r.index)+2)}
	maps.Copy(grown.index, r.index)
	for _, k := range [2]taskType{t.whole(), t} {
		if grown.find(k) == noEffect {
			grown.index[k] = int32(len(grown.effects))
			grown.effects = append(grown.effects, effect{taskType: k, trained: trained})
		}
	}
	return grown
}

// The columns of the linear model: an intercept, the physical terms, then for
// each effect the loss of the task itself and the loss it causes beside it.
const (
	interceptColumn = 0
	termColumns     = 1
	effectColumns   = termColumns + termCount
)

// slopes are the columns that are not negative: a use costs, or it does not.
func slopes() span { return span{first: termColumns, count: termCount} }

func (r *roster) columns() int { return effectColumns + 2*len(r.effects) }

func ownColumn(e int32) int { return effectColumns + 2*int(e) }

func otherColumn(e int32) int { return ownColumn(e) + 1 }

// member is one task of a set with what the regime knows of its type.
type member struct {
	load
	typ, model int32 // effects; noEffect where unknown
	trained    bool
	traits     [2]float64

	// What remember notes, so that a pair asks for nothing twice.
	present float64    // its presence
	bits    memberBits // what the trees are told
	hash    uint64
}

// member looks a task up. It does not allocate.
func (r *roster) member(p *profile.Profile) member {
	m := member{load: loadOf(p), typ: noEffect, model: noEffect}
	if t, ok := typeOf(p); ok {
		m.typ, m.model = r.find(t), r.find(t.whole())
		m.trained = m.typ != noEffect && r.effects[m.typ].trained
	}
	for _, e := range [2]int32{m.model, m.typ} {
		if e != noEffect {
			m.traits[0] += r.effects[e].traits[0]
			m.traits[1] += r.effects[e].traits[1]
		}
	}
	m.remember()
	return m
}

// compare orders members by all that a neighbour or a sum over them can tell.
func (m *member) compare(o *member) int {
	known := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	return cmp.Or(slices.Compare(m.bits[:], o.bits[:]), cmp.Compare(m.typ, o.typ), cmp.Compare(m.model, o.model),
		cmp.Compare(m.load.model, o.load.model), cmp.Compare(known(m.seen), known(o.seen)))
}

// stranger reports that neither use nor model of a task are known.
func (m *member) stranger() bool { return !m.seen && m.model == noEffect }

// plainPair reports that a pair is judged by use alone: effects learned beside
// known tasks do not hold beside a stranger. (With them, pairs of unseen
// families on Gavel's V100 match worse than at random.)
func plainPair(own, other *member) bool { return own.stranger() || other.stranger() }

// keepTraits stores the solved effects as traits.
func (r *roster) keepTraits(coef []float64) {
	for e := range r.effects {
		r.effects[e].traits = [2]float64{round9(coef[ownColumn(int32(e))]), round9(coef[otherColumn(int32(e))])}
	}
}

// treeColumns are the features of the residual trees: seven of the task and the
// same seven of the neighbour.
const (
	ownTreeColumns = 7
	treeColumns    = 2 * ownTreeColumns
)

func treeRow(own, other *member) [treeColumns]float64 {
	var row [treeColumns]float64
	a, b := own.treeColumns(), other.treeColumns()
	copy(row[copy(row[:], a[:]):], b[:])
	return row
}

func (m *member) treeColumns() [ownTreeColumns]float64 {
	return [ownTreeColumns]float64{m.sm, m.dram, m.memory, m.step, m.batch, m.traits[0], m.traits[1]}
}

// treeMonotone says that rising use of the neighbour may only raise the loss.
func treeMonotone() []int8 { return []int8{7: 1, 8: 1, 13: 0} }

// sparse is a row of the linear model: few of its columns are not zero.
type sparse struct {
	at    []int32
	value []float64
}

func (s *sparse) reset() { s.at, s.value = s.at[:0], s.value[:0] }

func (s *sparse) add(column int, v float64) {
	if v == 0 {
		return
	}
	for i, c := range s.at {
		if int(c) == column {
			s.value[i] += v
			return
		}
	}
	s.at, s.value = append(s.at, int32(column)), append(s.value, v)
}

func (s *sparse) dot(b []float64) float64 {
	var sum float64
	for i, c := range s.at {
		sum += float64(s.value[i] * b[c])
	}
	return sum
}

// fillRow makes s the row of task i of set.
func fillRow(s *sparse, set []member, i int) {
	s.reset()
	own := &set[i]
	var sum terms
	var c company
	for j := range set {
		if j == i {
			continue
		}
		t := pairTerms(&own.load, &set[j].load)
		for k := range t {
			sum[k] += t[k]
		}
		c.add(own, &set[j])
	}
	present := max(c.known, c.strange)
	if present == 0 {
		return
	}
	sm, dram := c.excess(own)
	sum[smOverflow] += sm
	sum[dramOverflow] += dram
	s.add(interceptColumn, present)
	for k, v := range sum {
		s.add(termColumns+k, v)
	}
	for _, e := range [2]int32{own.model, own.typ} {
		if e != noEffect {
			s.add(ownColumn(e), c.known)
		}
	}
	for j := range set {
		if j == i || plainPair(own, &set[j]) {
			continue
		}
		for _, e := range [2]int32{set[j].model, set[j].typ} {
			if e != noEffect {
				s.add(otherColumn(e), set[j].present)
			}
		}
	}
}

// String names the type as profile.Spec.Type does, or the model alone.
func (t taskType) String() string {
	if t.all {
		return t.model
	}
	return fmt.Sprintf("%s|%s|bs%d|%s", t.model, t.dataset, t.batch, t.precision)
}
