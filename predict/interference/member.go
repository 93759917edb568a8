package interference

import (
	"cmp"
	"slices"

	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/predict/internal/memo"
	"example.com/colloc/profile"
)

// member is one task of a set with what the regime knows of its type.
type member struct {
	load
	typ, model int32 // effects; noEffect where unknown
	trained    bool
	fitted     bool
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
		m.fitted = m.typ != noEffect && m.typ < r.fitted
	}
	if r.blind && m.trained {
		m.sm, m.dram, m.seen = unseenSM, unseenDRAMPerSM, false
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
		cmp.Compare(m.load.model, o.load.model), cmp.Compare(known(m.seen), known(o.seen)), cmp.Compare(m.serves, o.serves))
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

// memberBits are the bits of what the trees are told of one task of a pair.
type memberBits [ownTreeColumns]uint64

// remember notes a member's presence, and its bits and their hash, so that each
// pair it is part of costs one multiplication.
func (m *member) remember() {
	m.present = m.presence()
	row := m.treeColumns()
	m.hash = memo.Question(m.bits[:], row[:])
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

// acquaintance is 0 where the type of a task is known, 1 where only its model is, else 2.
func (m *member) acquaintance() int {
	switch {
	case m.typ != noEffect:
		return 0
	case m.model != noEffect:
		return 1
	}
	return 2
}

// company is what the neighbours of one task are to it together.
type company struct {
	// sm and dram are what they want of what the task leaves free, each of them
	// no more than all of it.
	sm, dram float64
	// busy is what those of them whose use was observed want of the SMs.
	busy float64
	// present is the largest presence among them.
	present float64
}

// add counts one more neighbour.
func (c *company) add(own, other *member) {
	c.sm += min(other.sm, 1-own.sm)
	c.dram += min(other.dram, 1-own.dram)
	c.present = max(c.present, other.present)
	if other.seen {
		c.busy += other.sm
	}
}

// excess returns what the two overflow terms of the whole neighbourhood exceed
// the sum of their pairs by: three tasks that fit pairwise may not fit together.
//
//	max(0, s + Σs' − 1 − Σ max(0, s + s' − 1)) = max(0, Σ min(s', 1−s) − (1−s))
//
// and alike for memory traffic: 0 for one neighbour, and never less for another.
func (c *company) excess(own *member) (sm, dram float64) {
	return max(0, c.sm-(1-own.sm)), max(0, c.dram-(1-own.dram))
}

// roomOfTurns is what the shares of time that tasks keep a GPU busy, each times its speed,
// come to at most where they take turns. Of Lucid's pairs whose shares add up to 1.3
// and more the mean is 1.17 and the largest 1.40: nvidia-smi counts the gaps between
// kernels as busy, which others fill. Where the kernels themselves take the time, as
// beside tally-bench's servers on an A100, it is .86 to .89.
const roomOfTurns = 1.4

// leastSlowdown is what the busy shares of the company and the task add to the time of
// its steps at least, where they take turns and all of these shares were observed.
func (r *regime) leastSlowdown(own *member, c *company) float64 {
	if r.mechanism != profile.TimeSlice || !own.seen {
		return -1
	}
	return (own.sm+c.busy)/roomOfTurns - 1
}

// fillRow makes s the row of task i of set: what a unit of each coefficient adds to
// its loss.
func (r *regime) fillRow(s *lsq.Row, set []member, i int) {
	s.Reset()
	own := &set[i]
	if len(set) == 2 && own.serves == 0 && set[1-i].serves > 0 {
		return // the law says all, from what is learned of the server
	}
	var room [8]float64
	slopes, ownSlope, excessSlope := r.slopesOf(room[:0], set, i)
	var sum terms
	var c company
	for j := range set {
		if j == i {
			continue
		}
		for k, v := range r.terms(&own.load, &set[j].load) {
			sum[k] += float64(slopes[j] * v)
		}
		c.add(own, &set[j])
	}
	if c.present == 0 {
		return
	}
	sm, dram := c.excess(own)
	sum[smOverflow] += float64(excessSlope * sm)
	sum[dramOverflow] += float64(excessSlope * dram)
	if own.seen {
		s.Add(interceptColumn, ownSlope)
	} else {
		s.Add(unseenColumn, ownSlope)
		for k, v := range r.unseenTerms() {
			sum[k] -= float64(v * ownSlope)
		}
	}
	for k, v := range sum {
		s.Add(termColumns+k, v)
	}
	for _, e := range [2]int32{own.model, own.typ} {
		if e != noEffect {
			s.Add(ownColumn(e), ownSlope)
		}
	}
	for j := range set {
		if j == i {
			continue
		}
		for _, e := range [2]int32{set[j].model, set[j].typ} {
			if e != noEffect {
				s.Add(otherColumn(e), float64(slopes[j]*set[j].present))
			}
		}
	}
}

// slopesOf appends to dst what a unit more of each neighbour's loss adds to the loss of
// task i of set, and returns what a unit of its own part and of an excess does: 1 and
// its presence beside one neighbour, beside more the slopes of setLoss at what is known.
func (r *regime) slopesOf(dst []float64, set []member, i int) (slopes []float64, own, excess float64) {
	if len(set) == 2 {
		return append(dst, 1, 1), set[1-i].present, 0
	}
	full, curve := r.ownLoss(&set[i], 1), r.curve()
	whole := curve.slowdownSlope(r.unboundedLoss(set, i))
	slopeAt := func(loss float64) float64 { return min(4*whole, curve.slowdownSlope(loss)) } // no more than in turns, so that nonsense stays finite
	alone := slopeAt(full)
	var present float64
	for j := range set {
		slope := alone
		if j != i {
			slope = slopeAt(full + r.pairLoss(&set[i], &set[j], r.treeLoss(&set[i], &set[j])))
			present = max(present, set[j].present)
		}
		dst = append(dst, slope/whole)
		own += (slope - alone) / whole
	}
	own += present * slopeAt(r.ownLoss(&set[i], present)) / whole
	return dst, own, min(4, excessCost/whole)
}

// target is what the row of a measured loss must come to: of a pair the loss less
// what the trees say, of a larger set what the row says now and by how much it is off:
// nothing where a bound of the sets says what was seen.
func (r *regime) target(x *lsq.Row, set []member, i int, loss float64) float64 {
	if len(set) == 2 {
		own, other := &set[i], &set[1-i]
		if serving(&own.load, &other.load) {
			loss -= r.lawLoss(own, other)
		}
		return loss - r.treeLoss(own, other)
	}
	free, bound := r.unboundedLoss(set, i), r.setLoss(set, i, true)
	return x.Dot(r.post.Coef) + loss - min(max(loss, min(free, bound)), max(free, bound))
}
