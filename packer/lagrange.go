package packer

import (
	"context"
	"math"
	"slices"
)

// maxRounds bounds the price updates of one problem.
const maxRounds = 200

// several solves a problem with several kinds of free GPU. Prices λ relax the
// numbers of GPUs:
//
//	L(λ) = max matching with values max_g(W(g, ij) - λ(g)) + Σ c(g)·λ(g)
//
// bounds every plan for any λ >= 0 and is convex; its subgradient is the number
// of GPUs of each kind left over. Each round matches, repairs the matching
// where a kind is used too often, and moves the prices by a Polyak step.
func (m *matcher) several(ctx context.Context, e *evaluator, tol float64) (*Solution, error) {
	start, err := greedy(context.WithoutCancel(ctx), m.in, m.table)
	if err != nil {
		return nil, err
	}
	best := newLayout(m.table, start)
	best.polish(ctx)
	value := best.value()
	var dual *matching
	bound := int64(math.MaxInt64)
	prices := make([]int64, m.in.free)
	theta, stale := 1.0, 0
	for range maxRounds {
		r := m.at(ctx, prices)
		if r == nil {
			break
		}
		stale++
		if b := m.bound(r); b < bound {
			if float64(bound-b) > 1e-5*float64(b) {
				stale = 0
			}
			bound, dual = b, r
		}
		l := m.repaired(r)
		l.polish(ctx)
		if v := l.value(); v > value {
			best, value, stale = l, v, 0
		}
		if float64(bound-quarters*value) <= tol*float64(bound) || theta < 1e-3 {
			break
		}
		if stale >= 5 {
			theta, stale = theta/2, 0
			prices = slices.Clone(dual.prices)
			r = dual
		}
		prices = m.step(r, prices, theta*float64(m.bound(r)-quarters*value))
	}
	pr := unproved()
	if dual != nil {
		pr = m.proof(dual)
	}
	return e.answer(ctx, best.plan(), pr, "matching, priced GPU kinds")
}

// step returns new prices: each moves against what is left over of its kind,
// all together so far that the bound would fall by gap if it were linear.
// Prices stay even, as blossom requires of weights.
func (m *matcher) step(r *matching, prices []int64, gap float64) []int64 {
	norm := 0.0
	left := make([]float64, len(prices))
	for k := range prices {
		left[k] = float64(len(m.in.classes[k].members) - r.counts[k])
		if prices[k] == 0 && left[k] > 0 {
			left[k] = 0
		}
		norm += left[k] * left[k]
	}
	next := slices.Clone(prices)
	if norm == 0 {
		return next
	}
	for k := range next {
		move := math.Round(gap * left[k] / norm / 2)
		next[k] = max(0, next[k]-2*int64(move))
	}
	return next
}

// repaired turns a matching that uses some kinds too often into a plan: sets
// move to another kind along the cheapest chains of moves, or are dropped.
func (m *matcher) repaired(r *matching) *layout {
	l := emptyLayout(m.table)
	type group struct{ a, b int32 }
	at := make([][]group, m.in.free)
	for i := range int32(m.n) {
		k, j := r.class[i], r.mate[i]
		switch {
		case k == none || j != none && j < i:
		case int(k) >= m.in.free:
			l.put(int(k), i, none)
		case j == none:
			at[k] = append(at[k], group{i, none})
		default:
			at[k] = append(at[k], group{i, j})
		}
	}
	t := transport{n: m.in.free, room: make([]int, m.in.free)}
	t.cost = func(s, from, to int) (int64, bool) {
		g := at[from][s]
		v := m.worth(to, g.a, g.b)
		return m.worth(from, g.a, g.b) - v, v > 0
	}
	t.drop = func(s, from int) int64 { g := at[from][s]; return m.worth(from, g.a, g.b) }
	t.size = func(k int) int { return len(at[k]) }
	t.move = func(s, from, to int) {
		g := at[from][s]
		last := len(at[from]) - 1
		at[from][s] = at[from][last]
		at[from] = at[from][:last]
		if to != none {
			at[to] = append(at[to], g)
		}
	}
	for k := range t.room {
		t.room[k] = len(m.in.classes[k].members)
	}
	t.run()
	for k := range at {
		for _, g := range at[k] {
			l.put(k, g.a, g.b)
		}
	}
	return l
}
