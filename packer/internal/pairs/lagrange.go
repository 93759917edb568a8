package pairs

import (
	"context"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// maxRounds bounds the price updates of one problem; 10 to 30 are usual.
const maxRounds = 200

// How precise the matchings of one problem are, as relative gaps.
const (
	commonTol = 1e-3     // to find a common price
	gapPart   = 1.0 / 16 // later, as a part of the gap so far
	leastTol  = 1e-6     // below, they are exact
	nearBest  = 1000     // part of the best plan that another may lack to be worth polishing
)

// several solves a problem with several kinds of free GPU. Prices λ relax the
// numbers of GPUs:
//
//	L(λ) = max matching with values max_g(W(g, ij) - λ(g)) + Σ c(g)·λ(g)
//
// bounds every plan for any λ >= 0 and is convex; its subgradient is the number
// of GPUs of each kind left over. Each round matches, as precisely as the gap
// asks for, repairs the matching where a kind is used too often, and moves the
// prices to where all matchings so far leave room for a lower bound, see pricer. It
// ends at a gap of half a unit for each task, which is what rounding the values may
// have taken, where there is no such room, or after maxRounds: the bound holds at any
// prices.
func (m *matcher) several(ctx context.Context, tol float64) (pl *instance.Plan, pr *instance.Proof, text string, err error) {
	best, err := m.start(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	value, raw := best.value(), int64(0)
	p := &pricer{m: m, bound: math.MaxInt64}
	m.tol = commonTol
	prices := m.commonPrice(ctx)
	for range m.rounds {
		r := m.at(ctx, prices)
		if r == nil {
			break
		}
		p.learn(r)
		if l := m.repaired(r); l.value() > raw {
			raw = l.value()
			if raw > value-value/nearBest {
				l.polish(ctx)
			}
			if v := l.value(); v > value {
				best, value = l, v
			}
		}
		gap := p.bound - instance.Quarters*value
		part := float64(gap) / float64(p.bound)
		prices = p.next(instance.Quarters * value)
		if gap <= int64(instance.Quarters*m.n/2) || part <= tol || slices.Equal(prices, p.dual.prices) {
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

// pricer searches for the prices with the lowest bound by a level method: each
// matching gives a plane that is below L everywhere, and the next prices are those
// nearest to the best so far at which all planes are below a level between the bound
// and the value of the best plan (Lemaréchal, Nemirovskii, Nesterov, New variants of
// bundle methods, 1995, doi:10.1007/BF01585555).
type pricer struct {
	m     *matcher
	bound int64
	dual  *priced // that has the bound
	cuts  []plane
}

// plane is below L: at + Σ left·(λ - prices).
type plane struct {
	prices, left []float64
	at, norm     float64
}

const (
	levelPart  = 0.6  // of the gap, that the next bound is to be lower
	levelTries = 12   // levels, each nearer to the bound
	maxCuts    = 80   // planes remembered
	maxSweeps  = 2000 // over the planes, to project on those that bind
	satisfied  = 0.05 // of the step down: by as much a plane may be above the level
)

// learn takes in what a round has shown.
func (p *pricer) learn(r *priced) {
	b := p.m.bound(r)
	c := plane{at: float64(p.m.worthOf(r))}
	for k, used := range r.counts {
		left := float64(len(p.m.in.Classes[k].Members) - used)
		c.prices, c.left, c.norm = append(c.prices, float64(r.prices[k])), append(c.left, left), c.norm+left*left
	}
	if p.cuts = append(p.cuts, c); len(p.cuts) > maxCuts {
		p.cuts = p.cuts[1:]
	}
	if b < p.bound {
		p.bound, p.dual = b, r
	}
}

// worthOf returns what r is worth at its prices, in quarters: no more than L there, of
// which the bound is no less.
func (m *matcher) worthOf(r *priced) int64 {
	total := m.constant(r.prices)
	for i := range int32(m.n) {
		k, j := int(r.class[i]), r.Mate[i]
		switch {
		case k == none || j != none && j < i:
		case k >= m.in.Free:
			total += instance.Quarters * m.gain[k][i]
		default:
			total += instance.Quarters*m.worth(k, i, j) - r.prices[k]*int64(m.in.Tasks[i].GPUs)
		}
	}
	return total
}

// next returns new prices, or those of the best bound if there are no better ones.
// Prices stay even, as blossom requires of weights.
func (p *pricer) next(value int64) []int64 {
	next := slices.Clone(p.dual.prices)
	step := levelPart * float64(p.bound-value)
	for range levelTries {
		if x, ok := p.project(float64(p.bound)-step, satisfied*step); ok {
			for k := range next {
				next[k] = 2 * int64(math.Round(x[k]/2))
			}
			break
		}
		step /= 2
	}
	return next
}

// project returns the prices nearest to the best so far at which no plane is above
// level by more than slack; false if it finds none (Hildreth, A quadratic programming
// procedure, 1957, doi:10.1002/nav.3800040113).
func (p *pricer) project(level, slack float64) ([]float64, bool) {
	x := make([]float64, len(p.dual.prices))
	for k, v := range p.dual.prices {
		x[k] = float64(v)
	}
	force, floor := make([]float64, len(p.cuts)), make([]float64, len(x))
	for range maxSweeps {
		worst := 0.0
		for n := range p.cuts {
			c := &p.cuts[n]
			if c.norm == 0 {
				continue
			}
			above := c.at - level
			for k, l := range c.left {
				above += float64(l * (x[k] - c.prices[k]))
			}
			worst = max(worst, above)
			move := max(above/c.norm, -force[n])
			force[n] += move
			for k, l := range c.left {
				x[k] -= float64(move * l)
			}
		}
		for k := range x {
			move := max(-x[k], -floor[k])
			floor[k] += move
			x[k] += move
		}
		if worst <= slack {
			return x, true
		}
	}
	return nil, false
}
