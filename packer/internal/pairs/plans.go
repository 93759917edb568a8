package pairs

import (
	"cmp"
	"context"
	"math"
	"slices"

	"example.com/colloc/packer/internal/start"
)

// repaired turns a matching that uses some kinds too often into a plan: sets
// move to another kind along the cheapest chains of moves, or are dropped.
func (m *matcher) repaired(r *priced) *layout {
	l := emptyLayout(m.plain)
	var seated []placed
	at := make([][]placed, m.in.Free)
	for i := range int32(m.n) {
		k, j := r.class[i], r.Mate[i]
		switch {
		case k == none || j != none && j < i:
		case int(k) >= m.in.Free:
			seated = append(seated, placed{int(k), i, none})
		default:
			at[k] = append(at[k], placed{int(k), i, j})
		}
	}
	if m.in.Gangs {
		for k := range at {
			seated = append(seated, at[k]...)
		}
		l.seat(m.fitWidths(seated))
		return l
	}
	t := start.Transport{N: m.in.Free, Room: make([]int, m.in.Free)}
	t.Cost = func(s, from, to int) (int64, bool) {
		g := at[from][s]
		v := m.worth(to, g.a, g.b)
		return m.worth(from, g.a, g.b) - v, v > 0
	}
	t.Drop = func(s, from int) int64 { g := at[from][s]; return m.worth(from, g.a, g.b) }
	t.Size = func(k int) int { return len(at[k]) }
	t.Move = func(s, from, to int) {
		g := at[from][s]
		last := len(at[from]) - 1
		at[from][s] = at[from][last]
		at[from] = at[from][:last]
		if to != none {
			at[to] = append(at[to], g)
		}
	}
	for k := range t.Room {
		t.Room[k] = len(m.in.Classes[k].Members)
	}
	t.Run()
	for k := range at {
		for _, g := range at[k] {
			seated = append(seated, placed{k, g.a, g.b})
		}
	}
	l.seat(seated)
	return l
}

// fitWidths drops the sets that are worth least for each GPU from classes that
// hold more than they have GPUs, and puts those that were dropped, and the tasks
// that wait, where there still are GPUs, those worth most for each GPU first.
func (m *matcher) fitWidths(groups []placed) []placed {
	room := make([]int, len(m.in.Classes))
	for k := range room {
		room[k] = len(m.in.Classes[k].Members)
		if k >= m.in.Free {
			room[k] = math.MaxInt32
		}
	}
	perGPU := func(k int, g placed) float64 {
		return float64(m.worth(k, g.a, g.b)) / float64(m.in.WidthOf(g.a, g.b))
	}
	slices.SortStableFunc(groups, func(a, b placed) int { return cmp.Compare(perGPU(b.class, b), perGPU(a.class, a)) })
	var kept, left []placed
	busy := make([]bool, m.n)
	for _, g := range groups {
		busy[g.a] = true
		if g.b != none {
			busy[g.b] = true
		}
		if w := m.in.WidthOf(g.a, g.b); w <= room[g.class] {
			room[g.class] -= w
			kept = append(kept, g)
		} else {
			left = append(left, g)
		}
	}
	for i := range int32(m.n) {
		if !busy[i] {
			left = append(left, placed{a: i, b: none})
		}
	}
	for _, g := range left {
		best, value := none, int64(0)
		for k := range m.in.Free {
			if v := m.worth(k, g.a, g.b); v > value && m.in.WidthOf(g.a, g.b) <= room[k] {
				best, value = k, v
			}
		}
		if best != none {
			g.class = best
			room[best] -= m.in.WidthOf(g.a, g.b)
			kept = append(kept, g)
		}
	}
	return kept
}

// orGreedy returns l, or Greedy's plan if that is better, which it can be by the
// tolerance.
func (m *matcher) orGreedy(ctx context.Context, l *layout) (*layout, error) {
	pl, err := start.Greedy(ctx, m.in, m.plain)
	if err != nil {
		return nil, err
	}
	if g := newLayout(m.plain, pl); g.value() > l.value() {
		return g, nil
	}
	return l, nil
}

// start returns the better of Greedy's plan and, where tasks have homes, the one
// that leaves all there, improved by exchanges.
func (m *matcher) start(ctx context.Context) (*layout, error) {
	pl, err := start.Greedy(ctx, m.in, m.plain)
	if err != nil {
		return nil, err
	}
	best := newLayout(m.plain, pl)
	best.polish(ctx)
	if m.in.Homes {
		pl, err := start.StayHome(m.in, m.plain)
		if err != nil {
			return nil, err
		}
		stay := newLayout(m.plain, pl)
		stay.polish(ctx)
		if stay.value() > best.value() {
			best = stay
		}
	}
	return best, nil
}

// settled improves l by exchanges and returns it, or the start if that is better.
func (m *matcher) settled(ctx context.Context, l *layout) (*layout, error) {
	best, err := m.start(ctx)
	if err != nil {
		return nil, err
	}
	if l.polish(ctx); l.value() >= best.value() {
		best = l
	}
	return best, nil
}
