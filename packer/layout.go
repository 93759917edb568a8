package packer

import "context"

// layout is a plan of sets of at most two, GPU by GPU, that local moves change.
// Slots above the GPUs hold tasks that wait.
type layout struct {
	*table
	class []int      // of each slot; none for waiting
	gpu   []int32    // of each slot; none for waiting
	tasks [][2]int32 // none where empty
	next  []int      // members of each free class in use
}

// emptyLayout has a slot for each GPU that may take a task, all empty.
func emptyLayout(t *table) *layout {
	l := &layout{table: t, next: make([]int, len(t.in.classes))}
	for k := range t.in.classes {
		if k >= t.in.free && t.gain[k] == nil {
			continue
		}
		for _, g := range t.in.classes[k].members {
			l.class = append(l.class, k)
			l.gpu = append(l.gpu, int32(g))
			l.tasks = append(l.tasks, [2]int32{none, none})
		}
	}
	return l
}

// newLayout copies a plan.
func newLayout(t *table, pl *plan) *layout {
	l := emptyLayout(t)
	slot := make([]int, len(t.in.p.GPUs))
	for s, g := range l.gpu {
		slot[g] = s
	}
	for i, g := range pl.gpu {
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

// put fills the next slot of class k.
func (l *layout) put(k int, a, b int32) {
	s := l.next[k]
	for l.class[s] != k || l.tasks[s][0] != none {
		s++
	}
	l.tasks[s] = [2]int32{a, b}
	l.next[k] = s + 1
}

// plan converts back; waiting tasks get no GPU.
func (l *layout) plan() *plan {
	pl := newPlan(l.in)
	for s, pair := range l.tasks {
		for _, i := range pair {
			if i != none {
				pl.gpu[i] = l.gpu[s]
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
	v := l.worth(k, a, b)
	if v == 0 && (a != none || b != none) {
		return -1 << 40
	}
	return v
}

// value returns the value of the plan, with the residents of full GPUs.
func (l *layout) value() int64 {
	total := int64(0)
	for s, pair := range l.tasks {
		total += l.slotValue(s, pair[0], pair[1])
	}
	for k := l.in.free; k < len(l.in.classes); k++ {
		if l.gain[k] == nil {
			total += l.in.classes[k].base
		}
	}
	return total
}

// polish exchanges tasks between two slots as long as that gains anything. All
// ways to share out the at most four tasks are tried for each two slots.
// O(slots²) for each pass.
func (l *layout) polish(ctx context.Context) {
	l.queue()
	for better := true; better && ctx.Err() == nil; {
		better = false
		for s := range l.tasks {
			for t := range s {
				if l.exchange(t, s) {
					better = true
				}
			}
		}
	}
	l.class, l.gpu, l.tasks = l.class[:l.slots()], l.gpu[:l.slots()], l.tasks[:l.slots()]
}

// slots counts the slots that are GPUs.
func (l *layout) slots() int {
	n := len(l.gpu)
	for n > 0 && l.gpu[n-1] == none {
		n--
	}
	return n
}

// queue adds slots for the tasks that wait, and an empty one.
func (l *layout) queue() {
	placed := make([]bool, l.n)
	for _, pair := range l.tasks {
		for _, i := range pair {
			if i != none {
				placed[i] = true
			}
		}
	}
	wait := [2]int32{none, none}
	add := func() {
		l.class, l.gpu, l.tasks = append(l.class, none), append(l.gpu, none), append(l.tasks, wait)
		wait = [2]int32{none, none}
	}
	for i, in := range placed {
		switch {
		case in:
		case wait[0] == none:
			wait[0] = int32(i)
		default:
			wait[1] = int32(i)
			add()
		}
	}
	add()
	add()
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
