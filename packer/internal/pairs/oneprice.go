package pairs

import (
	"context"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// The best value f(c) of a plan with c GPUs of one class is concave in c (the
// matching polytope stays integral under a bound on its size), so a price λ
// exists at which exactly M GPUs are best:
//
//	f(M) = min over λ >= 0 of L(λ) + M·λ,  L(λ) = max over c of f(c) - c·λ
//
// f is whole in units, so its slopes, the breakpoints of L, are whole units, and
// between them, at half units, the number of GPUs used is unique. The search
// narrows a bracket of half units until the number is M or the ends are
// neighbours; then both ends are optimal at the whole unit between them and are
// mixed. Each round narrows the bracket, at least one in three by half. It begins
// where GPUs are worth as much as the task alone that comes next: where pairs gain
// little over that, the price is there, and its neighbour is looked at next.

// onePrice solves a problem with one free class exactly. It returns the plan's
// matching and one whose duals prove it; nil when cancelled. With a tolerance the
// matching may use too many GPUs, and prove too little.
func (m *matcher) onePrice(ctx context.Context) (best, dual *priced) {
	if m.in.Free == 0 {
		r := m.at(ctx, nil)
		return r, r
	}
	gpus := len(m.in.Classes[0].Members)
	var lo, hi *priced // more and fewer GPUs than there are
	a, b := int64(-1), m.ceiling()
	t := m.going(gpus)
	for step := 0; ; step++ {
		switch {
		case step == 0:
		case step == 1 && hi != nil:
			t--
		case step == 1:
			t++
		case lo != nil && hi != nil && step%3 != 0:
			t = crossing(lo, hi)
		default:
			t = a + (b-a)/2
		}
		t = min(max(t, a+1), b-1)
		r := m.at(ctx, []int64{4*t + 2})
		switch {
		case r == nil:
			return nil, nil
		case r.counts[0] == gpus || m.tol > 0 && (m.close(r) || b-a <= 2):
			return r, r
		case r.counts[0] > gpus:
			lo, a = r, t
		default:
			hi, b = r, t
		}
		if b-a <= 1 {
			break
		}
	}
	// Both ends are optimal at 4b. If there is no lower end the price is zero
	// and GPUs stay idle.
	dual = m.at(ctx, []int64{4 * b})
	if dual == nil {
		return nil, nil
	}
	if lo != nil {
		m.mix(hi, lo, gpus)
	}
	return hi, dual
}

// going returns the price in units from which a GPU is better idle than given to
// the task that would come next if nobody shared.
func (m *matcher) going(gpus int) int64 {
	if m.n <= gpus {
		return 0
	}
	single := slices.Sorted(slices.Values(m.single[0]))
	return single[m.n-gpus]
}

// close reports whether r makes a plan that is within the tolerance of what it
// proves.
func (m *matcher) close(r *priced) bool {
	bound := m.bound(r)
	return float64(bound-instance.Quarters*m.repaired(r).value()) <= m.tol*float64(bound)
}

// ceiling returns a price in units that nobody pays.
func (m *matcher) ceiling() int64 { return m.top/instance.Quarters + 1 }

// crossing returns the half unit t + 1/2 next to where the lines through two
// points of L meet: the price at which both numbers of GPUs are worth the same.
func crossing(lo, hi *priced) int64 {
	fl := lo.dual + lo.prices[0]*int64(lo.counts[0])
	fh := hi.dual + hi.prices[0]*int64(hi.counts[0])
	return (fl - fh) / int64(lo.counts[0]-hi.counts[0]) / 4
}

// mix gives few exactly the number of GPUs given with parts of many: both are optimal
// at the same price and use fewer and more. Their difference falls apart into paths and
// cycles; each changes the number by one at most and the value at that price not at all.
// The duals of few are then of no use.
func (m *matcher) mix(few, many *priced, gpus int) {
	seen := make([]bool, len(few.Mate))
	for v := range int32(len(few.Mate)) {
		if few.counts[0] == gpus {
			return
		}
		part := component(few, many, v, seen)
		more := m.countIn(many, part) - m.countIn(few, part)
		if more <= 0 {
			continue
		}
		for _, u := range part {
			few.Mate[u] = many.Mate[u]
			if int(u) < m.n {
				few.class[u] = many.class[u]
			}
		}
		few.counts[0] += more
	}
}

// component returns the vertices reached from v along the pairs of either
// matching, unless v was seen before.
func component(a, b *priced, v int32, seen []bool) []int32 {
	if seen[v] {
		return nil
	}
	seen[v] = true
	part := []int32{v}
	for i := 0; i < len(part); i++ {
		for _, u := range [2]int32{a.Mate[part[i]], b.Mate[part[i]]} {
			if u != none && !seen[u] {
				seen[u] = true
				part = append(part, u)
			}
		}
	}
	return part
}

// countIn counts the GPUs of the free class that r uses for the tasks in part.
func (m *matcher) countIn(r *priced, part []int32) int {
	n := 0
	for _, v := range part {
		if int(v) >= m.n || r.class[v] != 0 {
			continue
		}
		if mate := r.Mate[v]; mate == none || mate < v {
			n++
		}
	}
	return n
}
