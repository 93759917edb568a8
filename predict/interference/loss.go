package interference

import (
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// loss returns what task i loses beside the others. With ratio it is what would
// be measured, negative where that is a gain; without, no neighbour helps and
// the whole is at least 0, so that it never falls when one joins.
func (r *regime) loss(set []member, i int, ratio bool) float64 {
	if len(set) > 2 {
		return r.setLoss(set, i, ratio)
	}
	own, other := &set[i], &set[1-i]
	tree := r.treeLoss(own, other)
	if !ratio {
		return r.lossBeside(own, other, tree)
	}
	if other.present == 0 {
		return 0
	}
	return r.pairLoss(own, other, tree) + r.ownLoss(own, other.present)
}

// lossBeside is loss beside one neighbour, of which tree is what the trees say.
func (r *regime) lossBeside(own, other *member, tree float64) float64 {
	if other.present == 0 {
		return 0
	}
	return max(0, max(0, r.pairLoss(own, other, tree))+r.ownLoss(own, other.present))
}

// counted is the speed that a plan may count on at a loss.
func (c curve) counted(loss float64) float64 { return min(1, max(predict.LeastSpeed, c.speed(loss))) }

// setLoss is loss beside two neighbours and more: the slowdowns that each of them
// causes alone are added up, the task's own part once, and the excess of the whole
// company over its pairs.
//
//	D_i = d(e_i) + Σ_j (d(L_ij + e_i) − d(e_i)) + excessCost Σ_k β_k excess_k
//
// with d(L) = 1/speed − 1. Where tasks take turns or share what is short in fair
// parts, slowdowns add up and losses do not. Each neighbour adds what it adds to any
// other company, and raises the rest or leaves it. It is no more than one after the
// other, where a neighbour adds the time of a step alone, or what it adds as a pair if
// that is more, and no less than leastSlowdown.
func (r *regime) setLoss(set []member, i int, ratio bool) float64 {
	s := r.addsUp(set, i, ratio)
	if s.present == 0 {
		return 0
	}
	curve := r.curve()
	loss := curve.ofSlowdown(max(curve.slowdown(s.reference)+min(s.slowdown, s.inTurn), r.leastSlowdown(&set[i], &s.company)))
	if ratio {
		return loss
	}
	return max(0, loss, s.worst+s.reference) // no faster than beside one, to the last bit
}

// unboundedLoss is setLoss without the bounds, which measurements cannot move.
func (r *regime) unboundedLoss(set []member, i int) float64 {
	s := r.addsUp(set, i, true)
	if s.present == 0 {
		return 0
	}
	return r.curve().ofSlowdown(r.curve().slowdown(s.reference) + s.slowdown)
}

// addedUp is what the company of a task comes to.
type addedUp struct {
	company
	reference float64 // the own part of the loss
	worst     float64 // the largest loss to one neighbour
	slowdown  float64 // what the neighbours and the excess add
	inTurn    float64 // the same, if no neighbour took more than its turn
}

func (r *regime) addsUp(set []member, i int, ratio bool) (s addedUp) {
	own, curve := &set[i], r.curve()
	full := r.ownLoss(own, 1)
	alone := curve.slowdown(full)
	for j := range set {
		if j == i {
			continue
		}
		other := &set[j]
		s.add(own, other)
		pair := r.pairLoss(own, other, r.treeLoss(own, other))
		if !ratio {
			pair = max(0, pair)
		}
		s.worst = max(s.worst, pair)
		adds := curve.slowdown(pair+full) - alone
		s.slowdown, s.inTurn = s.slowdown+adds, s.inTurn+max(1, adds)
	}
	s.reference = r.ownLoss(own, s.present)
	sm, dram := s.excess(own)
	s.slowdown += float64(excessCost * r.post.Coef[termColumns+smOverflow] * sm)
	s.slowdown += float64(excessCost * r.post.Coef[termColumns+dramOverflow] * dram)
	return s
}

// pairLoss returns what one neighbour costs a task, of which tree is what the
// trees say.
func (r *regime) pairLoss(own, other *member, tree float64) float64 {
	var loss float64
	if serving(&own.load, &other.load) {
		if tree, loss = 0, r.lawLoss(own, other); own.serves == 0 {
			return loss
		}
	} else {
		values := r.terms(&own.load, &other.load)
		loss = r.physical(&values)
	}
	var learned float64
	for _, e := range [2]int32{other.model, other.typ} {
		if e != noEffect {
			learned += r.post.Coef[otherColumn(e)]
		}
	}
	loss += damp(learned, other.present)
	return loss + damp(tree, other.present)
}

// terms are those of a pair under the mechanism of the regime, and physical is what they
// come to. Where no pair was ever fitted, two tasks do no worse beside each other than one
// after the other, at half of their speed each: all terms shrink to that.
func (r *regime) terms(own, other *load) terms {
	if serving(own, other) {
		return terms{}
	}
	values := turnTerms(own, other)
	if r.mechanism == profile.MPS {
		values = mpsTerms(own, other)
	}
	if r.base == nil || r.base.N > 0 {
		return values
	}
	if loss, most := r.physical(&values), 0.5-max(0, r.post.Coef[interceptColumn]); loss > most {
		for k := range values {
			values[k] *= max(0, most) / loss
		}
	}
	return values
}

func (r *regime) physical(values *terms) float64 {
	slopes := (*terms)(r.post.Coef[termColumns:])
	var loss float64
	for k, v := range values {
		loss += float64(v * slopes[k])
	}
	return loss
}

// unseenTerms are those of two tasks of different models without observed use.
func (r *regime) unseenTerms() terms {
	unseen := loadOf(nil)
	return r.terms(&unseen, &unseen)
}

// strangerShare is how far the trees are believed where a model is unknown: from
// ½ to ¾ the error is least when whole models are left out of Lucid; see docs/adr.
const strangerShare = 0.7

// treeShare is how far the trees are believed about a pair: in full between
// models that are known, by strangerShare where one is not, and not at all where
// its use is not known either.
func (r *regime) treeShare(own, other *member) float64 {
	known := own.model != noEffect && other.model != noEffect
	switch {
	case r.trees == nil || serving(&own.load, &other.load) || (!known && (!own.seen || !other.seen)):
		return 0
	case known:
		return 1
	}
	return strangerShare
}

// treeLoss is the trees' part of a pair's loss.
func (r *regime) treeLoss(own, other *member) float64 {
	share := r.treeShare(own, other)
	if share == 0 {
		return 0
	}
	if r.memo != nil {
		return float64(share * r.memo.predict(r.trees, own, other))
	}
	row := treeRow(own, other)
	return float64(share * r.trees.Predict(row[:]))
}

// ownLoss is the part of a task's loss that does not depend on who its
// neighbours are: an intercept and what was learned of its types. Where its use was
// not observed the intercept is the whole loss beside another such task, so that
// the terms only say how far its neighbour differs from one.
func (r *regime) ownLoss(own *member, present float64) float64 {
	loss := r.post.Coef[interceptColumn]
	if !own.seen {
		values := r.unseenTerms()
		loss = r.post.Coef[unseenColumn] - r.physical(&values)
	}
	for _, e := range [2]int32{own.model, own.typ} {
		if e != noEffect {
			loss += r.post.Coef[ownColumn(e)]
		}
	}
	return damp(loss, present)
}

// damp fades a cost in with the presence of whoever causes it. A gain needs no
// fading: the sum is held at 0, and fading it would let a loss fall while the
// neighbour's use rises.
func damp(loss, presence float64) float64 {
	if loss > 0 {
		return loss * presence
	}
	return loss
}
