package pairs

import (
	"cmp"
	"math"
	"slices"
)

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

// seatGangs seats the sets that take several GPUs in the first slots of their
// class that are free, and returns the others.
func (l *layout) seatGangs(groups []placed) []placed {
	if !l.in.Gangs {
		return groups
	}
	var rest []placed
	for _, g := range groups {
		width := l.in.WidthOf(g.a, g.b)
		if width == 1 || g.class >= l.in.Free {
			rest = append(rest, g)
			continue
		}
		var slots []int
		for s := range l.class {
			if l.class[s] == g.class && l.width[s] == 1 && l.tasks[s][0] == none && len(slots) < width {
				slots = append(slots, s)
			}
		}
		if len(slots) == width {
			l.widen(slots)
			l.tasks[slots[0]] = [2]int32{g.a, g.b}
		}
	}
	return rest
}

// widen joins slots to one for gangs. The GPU with the lowest index stands for
// all.
func (l *layout) widen(slots []int) {
	gpus := make([]int32, len(slots))
	for n, s := range slots {
		gpus[n] = l.gpu[s]
		l.width[s] = 0
	}
	slices.Sort(gpus)
	l.gpu[slots[0]], l.width[slots[0]] = gpus[0], len(gpus)
	l.more[gpus[0]] = gpus[1:]
	for n, s := range slots[1:] {
		l.gpu[s] = gpus[n+1]
	}
}
