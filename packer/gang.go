package packer

import (
	"cmp"
	"slices"
)

// gpus returns how many GPUs t takes.
func (t *Task) gpus() int { return max(1, t.GPUs) }

// gangs reports whether some task takes more than one GPU.
func (p *Problem) gangs() bool {
	return slices.ContainsFunc(p.Tasks, func(t Task) bool { return t.GPUs > 1 })
}

// widest bounds Task.GPUs.
const widest = 1 << 16

// share returns what a GPU must earn at least if a set that takes width of them
// is to make a profit: rounded up, so that the sum over GPUs is a bound.
func share(profit int64, width int) int64 {
	if profit <= 0 || width == 1 {
		return profit
	}
	w := int64(width)
	return (profit + w - 1) / w
}

// widthOf returns how many GPUs the set of tasks i and j takes, of which both,
// or one, may be none.
func (in *instance) widthOf(i, j int32) int {
	if i == none {
		i = j
	}
	if i == none {
		return 1
	}
	return in.tasks[i].gpus()
}

// fitWidths drops the sets that are worth least for each GPU from classes that
// hold more than they have GPUs, and puts those that were dropped, and the tasks
// that wait, where there still are GPUs, those worth most for each GPU first.
func (m *matcher) fitWidths(groups []placed) []placed {
	room := make([]int, len(m.in.classes))
	for k := range room {
		room[k] = len(m.in.classes[k].members)
		if k >= m.in.free {
			room[k] = widest * widest
		}
	}
	perGPU := func(k int, g placed) float64 {
		return float64(m.worth(k, g.a, g.b)) / float64(m.in.widthOf(g.a, g.b))
	}
	slices.SortStableFunc(groups, func(a, b placed) int { return cmp.Compare(perGPU(b.class, b), perGPU(a.class, a)) })
	var kept, left []placed
	busy := make([]bool, m.n)
	for _, g := range groups {
		busy[g.a] = true
		if g.b != none {
			busy[g.b] = true
		}
		if w := m.in.widthOf(g.a, g.b); w <= room[g.class] {
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
		for k := range m.in.free {
			if v := m.worth(k, g.a, g.b); v > value && m.in.widthOf(g.a, g.b) <= room[k] {
				best, value = k, v
			}
		}
		if best != none {
			g.class = best
			room[best] -= m.in.widthOf(g.a, g.b)
			kept = append(kept, g)
		}
	}
	return kept
}

// seatGangs seats the sets that take several GPUs in the first slots of their
// class that are free, and returns the others.
func (l *layout) seatGangs(groups []placed) []placed {
	if !l.in.gangs {
		return groups
	}
	var rest []placed
	for _, g := range groups {
		width := l.in.widthOf(g.a, g.b)
		if width == 1 || g.class >= l.in.free {
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

// mostAlike returns how many GPUs there are of one type that hosts t, whatever
// runs there.
func (in *instance) mostAlike(t *Task) int {
	most := 0
	for k := range in.classes {
		gpu, n := in.classes[k].gpu, 0
		for o := range in.classes {
			if other := in.classes[o].gpu; other.Type == gpu.Type && other.memory() == gpu.memory() && other.hosts(t) {
				n += len(in.classes[o].members)
			}
		}
		most = max(most, n)
	}
	return most
}
