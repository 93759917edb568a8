package interference

import "example.com/colloc/predict"

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

// speedWith is the speed that a plan may count on at a loss.
func speedWith(loss float64) float64 { return min(1, max(predict.LeastSpeed, speedOf(loss))) }

// setLoss is loss beside two neighbours and more: the slowdowns that each of them
// causes alone are added up, the task's own part once, and the excess of the whole
// company over its pairs.
//
//	D_i = d(e_i) + Σ_j (d(L_ij + e_i) − d(e_i)) + excessCost Σ_k β_k excess_k
//
// with d(L) = 1/speed − 1. Where tasks take turns or share what is short in fair
// parts, slowdowns add up and losses do not. Each neighbour adds what it adds to any
// other company, and raises the rest or leaves it.
func (r *regime) setLoss(set []member, i int, ratio bool) float64 {
	own := &set[i]
	full := r.ownLoss(own, 1)
	alone := slowdownOf(full)
	var c company
	var sum, worst float64
	for j := range set {
		if j == i {
			continue
		}
		other := &set[j]
		c.add(own, other)
		pair := r.pairLoss(own, other, r.treeLoss(own, other))
		if !ratio {
			pair = max(0, pair)
		}
		worst = max(worst, pair)
		sum += slowdownOf(pair+full) - alone
	}
	if c.present == 0 {
		return 0
	}
	reference := r.ownLoss(own, c.present)
	sm, dram := c.excess(own)
	sum += float64(excessCost * r.post.Coef[termColumns+smOverflow] * sm)
	sum += float64(excessCost * r.post.Coef[termColumns+dramOverflow] * dram)
	loss := lossOfSlowdown(slowdownOf(reference) + sum)
	if ratio {
		return loss
	}
	return max(0, loss, worst+reference) // no faster than beside one, to the last bit
}

// pairLoss returns what one neighbour costs a task, of which tree is what the
// trees say.
func (r *regime) pairLoss(own, other *member, tree float64) float64 {
	values, slopes := pairTerms(&own.load, &other.load), (*terms)(r.post.Coef[termColumns:])
	var loss float64
	for k, v := range &values {
		loss += float64(v * slopes[k])
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

// strangerShare is how far the trees are believed where a model is unknown: from
// ½ to ¾ the error is least when whole models are left out of Lucid; see docs/adr.
const strangerShare = 0.7

// treeShare is how far the trees are believed about a pair: in full between
// models that are known, by strangerShare where one is not, and not at all where
// its use is not known either.
func (r *regime) treeShare(own, other *member) float64 {
	known := own.model != noEffect && other.model != noEffect
	switch {
	case r.trees == nil || (!known && (!own.seen || !other.seen)):
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
		loss = r.post.Coef[unseenColumn]
		for k, v := range unseenTerms() {
			loss -= float64(v * r.post.Coef[termColumns+k])
		}
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
