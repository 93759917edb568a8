package pairs

import (
	"cmp"
	"context"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// layout is a plan of sets of at most two, GPU by GPU, that local moves change.
// Slots above the GPUs hold tasks that wait.
type layout struct {
	*table
	class []int      // of each slot; none for waiting
	gpu   []int32    // of each slot; none for waiting, and any for a gang's other GPUs
	tasks [][2]int32 // none where empty
	width []int      // GPUs of each slot; 0 for those of a gang's other GPUs
	more  map[int32][]int32
}

// emptyLayout has a slot for each GPU that may take a task, all empty.
func emptyLayout(t *table) *layout {
	l := &layout{table: t, more: map[int32][]int32{}}
	for k := range t.in.Classes {
		if k >= t.in.Free && t.gain[k] == nil {
			continue
		}
		for _, g := range t.in.Classes[k].Members {
			l.class = append(l.class, k)
			l.gpu = append(l.gpu, int32(g))
			l.tasks = append(l.tasks, [2]int32{none, none})
			l.width = append(l.width, 1)
		}
	}
	return l
}

// newLayout copies a plan.
func newLayout(t *table, pl *instance.Plan) *layout {
	l := emptyLayout(t)
	slot := l.slotOf()
	for lead, more := range pl.More {
		slots := []int{slot[lead]}
		for _, g := range more {
			slots = append(slots, slot[g])
		}
		if len(more) > 0 {
			l.widen(slots)
		}
	}
	for i, g := range pl.Gpu {
		if g == none {
			continue
		}
		pair := &l.tasks[slot[g]]
		if pair[0] == none {
			pair[0] = int32(i)
		} else {
			pair[1] = int32(i)
		}
	}
	return l
}

// placed is a task, or two, on some GPU of a class.
type placed struct {
	class int
	a, b  int32 // b may be none
}

// seat fills slots with groups: at home where that saves most, then in the next
// slots of their class, those that are nobody's home first.
func (l *layout) seat(groups []placed) {
	groups = l.seatGangs(l.seatAtHome(groups))
	for _, homes := range [2]bool{false, true} {
		s := make([]int, len(l.in.Classes))
		kept := groups[:0]
		for _, g := range groups {
			at := s[g.class]
			for at < len(l.class) && (l.class[at] != g.class || l.width[at] != 1 || l.tasks[at][0] != none || l.in.Here[l.gpu[at]] != homes) {
				at++
			}
			if s[g.class] = at; at == len(l.class) {
				kept = append(kept, g)
				continue
			}
			l.tasks[at] = [2]int32{g.a, g.b}
		}
		groups = kept
	}
}

// seatAtHome seats groups where a member saves by staying, those that save most
// first, and returns the others.
func (l *layout) seatAtHome(groups []placed) []placed {
	if !l.in.Homes {
		return groups
	}
	type wish struct {
		group int
		gpu   int
		saves int64
	}
	var wishes []wish
	for n, g := range groups {
		for _, i := range [2]int32{g.a, g.b} {
			if l.in.StayIn(g.class, i) > 0 {
				home := int(l.in.Home[i])
				wishes = append(wishes, wish{n, home, l.in.StayOn(home, g.a) + l.in.StayOn(home, g.b)})
			}
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(b.saves, a.saves) })
	slot := l.slotOf()
	seated := make([]bool, len(groups))
	for _, w := range wishes {
		if s := slot[w.gpu]; s != none && l.tasks[s][0] == none && !seated[w.group] {
			l.tasks[s], seated[w.group] = [2]int32{groups[w.group].a, groups[w.group].b}, true
		}
	}
	var rest []placed
	for n, g := range groups {
		if !seated[n] {
			rest = append(rest, g)
		}
	}
	return rest
}

// slotOf returns the slot of each GPU, or none.
func (l *layout) slotOf() []int {
	slot := make([]int, len(l.in.ByGPU))
	for g := range slot {
		slot[g] = none
	}
	for s, g := range l.gpu {
		slot[g] = s
	}
	return slot
}

// plan converts back; waiting tasks get no GPU.
func (l *layout) plan() *instance.Plan {
	pl := instance.NewPlan(l.in)
	pl.More = l.more
	for s, pair := range l.tasks {
		for _, i := range pair {
			if i != none {
				pl.Gpu[i] = l.gpu[s]
			}
		}
	}
	return pl
}

// slotValue returns the value of slot s with tasks a and b; negative if they
// may not share.
func (l *layout) slotValue(s int, a, b int32) int64 {
	k := l.class[s]
	if k == none {
		return 0
	}
	if l.in.Gangs && (a != none || b != none) && k < l.in.Free && l.width[s] != l.in.WidthOf(a, b) {
		return -1 << 40
	}
	v := l.worth(k, a, b)
	switch {
	case v == 0 && (a != none || b != none):
		return -1 << 40
	case l.in.Here[l.gpu[s]]:
		v += l.in.StayOn(int(l.gpu[s]), a)
		if a != b {
			v += l.in.StayOn(int(l.gpu[s]), b)
		}
	}
	return v
}

// value returns the value of the plan, with the residents of full GPUs.
func (l *layout) value() int64 {
	total := int64(0)
	for s, pair := range l.tasks {
		total += l.slotValue(s, pair[0], pair[1])
	}
	for k := l.in.Free; k < len(l.in.Classes); k++ {
		if l.gain[k] == nil {
			total += l.in.Classes[k].Base
		}
	}
	return total
}

// polish exchanges tasks between two slots as long as that gains anything. All
// ways to share out the at most four tasks are tried for each two slots.
// O(slots²) for each pass. Each exchange gains a unit at least, and all sets together
// are worth a finite number of them.
func (l *layout) polish(ctx context.Context) {
	l.queue()
	last := make([]int, len(l.tasks)) // pass that changed each slot
	better := true
	for pass := 1; better && ctx.Err() == nil; pass++ {
		better = false
		for s := range l.tasks {
			if ctx.Err() != nil {
				break
			}
			for t := range s {
				// Two slots that were tried as they are gain nothing.
				if max(last[s], last[t]) >= pass-1 && l.exchange(t, s) {
					last[s], last[t], better = pass, pass, true
				}
			}
		}
	}
}

// queue adds slots for the tasks that wait. None are left for tasks to leave to: a set
// is worth more than each of its members alone, and at home no less.
func (l *layout) queue() {
	placed := make([]bool, l.n)
	for _, pair := range l.tasks {
		for _, i := range pair {
			if i != none {
				placed[i] = true
			}
		}
	}
	half := false
	for i, in := range placed {
		switch {
		case in:
		case half:
			l.tasks[len(l.tasks)-1][1], half = int32(i), false
		default:
			l.class, l.gpu, l.tasks = append(l.class, none), append(l.gpu, none), append(l.tasks, [2]int32{int32(i), none})
			half = true
		}
	}
}

// exchange shares out the tasks of two slots in the best way; it reports
// whether that gained.
func (l *layout) exchange(s, t int) bool {
	p, q := l.tasks[s], l.tasks[t]
	if l.class[s] == none && l.class[t] == none || p == q {
		return false
	}
	best := l.slotValue(s, p[0], p[1]) + l.slotValue(t, q[0], q[1])
	found := false
	for _, try := range [5][2][2]int32{
		{{p[0], q[0]}, {p[1], q[1]}},
		{{p[0], q[1]}, {q[0], p[1]}},
		{{p[1], q[0]}, {p[0], q[1]}},
		{{p[1], q[1]}, {p[0], q[0]}},
		{q, p},
	} {
		v := l.slotValue(s, try[0][0], try[0][1]) + l.slotValue(t, try[1][0], try[1][1])
		if v > best {
			best, found = v, true
			l.tasks[s], l.tasks[t] = try[0], try[1]
		}
	}
	return found
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
}
