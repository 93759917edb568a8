package rollout

import (
	"cmp"
	"slices"
)

// line takes in those of Line that wait.
func (e *Engine) line() {
	e.lined = slices.Grow(e.lined[:0], len(e.Jobs))[:len(e.Jobs)]
	clear(e.lined)
	for _, i := range e.Line {
		if j := &e.Jobs[i]; len(j.On) == 0 && !j.Held && !e.lined[i] {
			e.lined[i] = true
			e.waits = append(e.waits, i)
		}
	}
}

// Queue are the jobs that wait in the order of the last rule, as it found them.
func (e *Engine) Queue() []int32 { return e.waits }

// sort puts those that wait in the order of the rule: what has kept its order since the last is merged with the
// rest.
func (e *Engine) sort() {
	all := e.waits
	n := 1
	for n < len(all) && e.before(all[n-1], all[n]) < 0 {
		n++
	}
	if n >= len(all) {
		return
	}
	if len(all)-n > len(all)/8 {
		slices.SortFunc(all, e.before)
		return
	}
	late := slices.Clone(all[n:])
	slices.SortFunc(late, e.before)
	for at := len(all) - 1; len(late) > 0; at-- {
		last := len(late) - 1
		if n > 0 && e.before(late[last], all[n-1]) < 0 {
			n--
			all[at] = all[n]
			continue
		}
		all[at], late = late[last], late[:last]
	}
}

// before orders jobs that wait.
func (e *Engine) before(a, b int32) int {
	x, y := &e.Jobs[a], &e.Jobs[b]
	if x.Class != y.Class {
		return cmp.Compare(y.Class, x.Class)
	}
	if x.Due != y.Due {
		if x.Due {
			return -1
		}
		return 1
	}
	if x.Tier != y.Tier {
		return cmp.Compare(x.Tier, y.Tier)
	}
	by := 0
	switch e.rule.Order {
	case Arrival:
		by = cmp.Compare(y.weight(), x.weight())
	case Shortest:
		by = cmp.Compare(e.lives[a].size, e.lives[b].size)
	case Longest:
		by = cmp.Compare(e.lives[b].size, e.lives[a].size)
	}
	return cmp.Or(by, cmp.Compare(x.Turn, y.Turn))
}
