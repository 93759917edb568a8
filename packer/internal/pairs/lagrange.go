package pairs

import (
	"context"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// maxRounds bounds the price updates of one problem.
const maxRounds = 200

// How precise the matchings of one problem are, as relative gaps.
const (
	commonTol = 1e-3     // to find a common price
	gapPart   = 1.0 / 16 // later, as a part of the gap so far
	leastTol  = 1e-6     // below, they are exact
)

// several solves a problem with several kinds of free GPU. Prices λ relax the
// numbers of GPUs:
//
//	L(λ) = max matching with values max_g(W(g, ij) - λ(g)) + Σ c(g)·λ(g)
//
// bounds every plan for any λ >= 0 and is convex; its subgradient is the number
// of GPUs of each kind left over. Each round matches, as precisely as the gap
// asks for, repairs the matching where a kind is used too often, and moves the
// prices from the best ones so far against a moving average of the subgradients
// (the volume algorithm of Barahona and Anbil). It ends at a gap of half a unit
// for each task, which is what rounding the values may have taken.
func (m *matcher) several(ctx context.Context, tol float64) (pl *instance.Plan, pr *instance.Proof, text string, err error) {
	best, err := m.start(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	value, raw := best.value(), int64(0)
	p := &pricer{m: m, bound: math.MaxInt64, theta: 1}
	m.tol = commonTol
	prices := m.commonPrice(ctx)
	for range maxRounds {
		r := m.at(ctx, prices)
		if r == nil {
			break
		}
		p.learn(r)
		if l := m.repaired(r); l.value() > raw {
			raw = l.value()
			l.polish(ctx)
			if v := l.value(); v > value {
				best, value = l, v
			}
		}
		gap := p.bound - instance.Quarters*value
		part := float64(gap) / float64(p.bound)
		prices = p.next(instance.Quarters * value)
		if gap <= int64(instance.Quarters*m.n/2) || part <= tol || p.theta < 1e-3 || slices.Equal(prices, p.dual.prices) {
			break
		}
		if m.tol = gapPart * part; m.tol < leastTol {
			m.tol = 0
		}
	}
	if p.dual != nil {
		pr = m.proof(p.dual)
	}
	return best.plan(), pr, "matching, priced GPU kinds", nil
}

// commonPrice returns equal prices for all kinds at which about as many GPUs are
// used as there are: where the search for different ones begins. Each round
// makes high - low smaller: by half, and by one at least.
func (m *matcher) commonPrice(ctx context.Context) []int64 {
	prices := make([]int64, m.in.Free)
	gpus := 0
	for k := range prices {
		gpus += len(m.in.Classes[k].Members)
	}
	for low, high := int64(0), m.ceiling(); high-low > high/64; {
		mid := (low + high) / 2
		for k := range prices {
			prices[k] = instance.Quarters * mid
		}
		r := m.at(ctx, prices)
		if r == nil {
			break
		}
		used := 0
		for _, c := range r.counts {
			used += c
		}
		switch {
		case used == gpus:
			return prices
		case used > gpus:
			low = max(mid, low+1)
		default:
			high = mid
		}
	}
	return prices
}

// pricer searches for the prices with the lowest bound.
type pricer struct {
	m     *matcher
	bound int64
	dual  *priced   // that has the bound
	used  []float64 // moving average of the GPUs used in each kind
	theta float64   // fraction of a full step
	stale int       // rounds since the bound fell
}

// learn takes in what a round has shown.
func (p *pricer) learn(r *priced) {
	const weight = 0.3 // of the newest round
	if p.used == nil {
		p.used = make([]float64, len(r.counts))
		for k, c := range r.counts {
			p.used[k] = float64(c)
		}
	}
	for k, c := range r.counts {
		p.used[k] += weight * (float64(c) - p.used[k])
	}
	p.stale++
	if b := p.m.bound(r); b < p.bound {
		p.bound, p.dual, p.stale = b, r, 0
		p.theta = min(2, 1.2*p.theta)
	} else if p.stale%4 == 0 {
		p.theta *= 0.6
	}
}

// next returns new prices: each moves from the best so far against what is left
// over of its kind, all together so far that the bound would reach value if it
// were linear. Prices stay even, as blossom requires of weights.
func (p *pricer) next(value int64) []int64 {
	next := slices.Clone(p.dual.prices)
	left := make([]float64, len(next))
	norm := 0.0
	for k := range next {
		left[k] = float64(len(p.m.in.Classes[k].Members)) - p.used[k]
		if next[k] == 0 && left[k] > 0 {
			left[k] = 0
		}
		norm += left[k] * left[k]
	}
	for k := range next {
		if norm > 0 {
			move := p.theta * float64(p.bound-value) * left[k] / norm / 2
			next[k] = max(0, next[k]-2*int64(math.Round(move)))
		}
	}
	return next
}
