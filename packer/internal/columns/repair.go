package columns

import (
	"cmp"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// The value of a plan falls short of the bound by what its sets, idle GPUs and
// waiting tasks lose against the prices:
//
//	loss(g, S) = λ(g) + Σ u(i: i ∈ S) - W(g, S) >= 0
//	loss of an idle GPU λ(g), of a waiting task u(i)
//
// A few GPUs can be filled better if, and only if, their tasks can be arranged
// with a smaller sum of losses. The losses of good plans are small, so that
// nearly every set is out of the question at once.

// repair looks for the best arrangement of a few loose tasks on a few GPUs by
// branching on what becomes of the first type left.
type repair struct {
	*pool
	of    *Generation
	types []int32   // of the loose tasks, dearest first
	local []int32   // place of each type in types, or none
	tasks [][]int32 // the loose tasks of each of types
	left  []int     // how many of each are left
	seats []int     // GPUs left in each site
	moves [][]move  // what can become of each of types and those after it
	arena []int32   // of the moves' types
	open  int       // GPUs left
	made  []*move
	best  []*move
	found bool
	limit int64 // loss to stay below
	work  int
}

// move puts loose tasks in a site; none lets one task wait.
type move struct {
	site  int
	width int     // GPUs that the set takes
	types []int32 // places in repair.types
	loss  int64
}

const (
	maxLoose = 36     // tasks in one repair
	maxWork  = 20_000 // moves looked at in one repair
)

func newRepair(g *Generation, p *pool) *repair {
	r := &repair{pool: p, of: g, seats: make([]int, len(g.sites)), local: make([]int32, len(g.u))}
	for i := range r.local {
		r.local[i] = none
	}
	return r
}

// run looks for an arrangement of the tasks and GPUs picked by n that loses less
// than the present one; false if there is none, or none within maxWork.
func (r *repair) run(n *neighbours) bool {
	r.load(n)
	r.work, r.made, r.best, r.found = 0, r.made[:0], r.best[:0], false
	r.open = len(n.Picked)
	clear(r.seats)
	idle := int64(0)
	for _, s := range n.Picked {
		to := &n.Groups[s]
		at := n.at[to.Gpu]
		r.seats[at]++
		idle += n.most[at]
		r.limit -= instance.Quarters * (to.Value - n.In.Classes[to.Class].Base)
	}
	r.limit += idle
	if r.limit <= 0 {
		return false
	}
	r.gather()
	r.branch(0, 0, 0, idle)
	return r.found
}

// load sorts the loose tasks by type and sets limit to their price.
func (r *repair) load(n *neighbours) {
	for _, t := range r.types {
		r.local[t] = none
	}
	r.types, r.limit = r.types[:0], 0
	for _, i := range n.Loose {
		t := n.cat.Of[i]
		r.limit += r.u[t]
		if r.local[t] == none {
			r.local[t] = 0
			r.types = append(r.types, t)
		}
	}
	slices.SortFunc(r.types, func(a, b int32) int { return cmp.Or(cmp.Compare(r.u[b], r.u[a]), cmp.Compare(a, b)) })
	for len(r.tasks) < len(r.types) {
		r.tasks, r.left, r.moves = append(r.tasks, nil), append(r.left, 0), append(r.moves, nil)
	}
	for b, t := range r.types {
		r.local[t], r.tasks[b] = int32(b), r.tasks[b][:0]
	}
	for _, i := range n.Loose {
		b := r.local[n.cat.Of[i]]
		r.tasks[b] = append(r.tasks[b], i)
	}
	for b := range r.types {
		r.left[b] = len(r.tasks[b])
	}
}

// gather lists, for each loose type, the sets of loose types in which it comes
// first, least loss first, and to let one task of it wait.
func (r *repair) gather() {
	r.arena = r.arena[:0]
	for b, t := range r.types {
		list := r.moves[b][:0]
		wait := move{site: none, types: []int32{int32(b)}, loss: r.u[t]}
		for _, h := range r.by[t] {
			if h.loss >= r.limit {
				break
			}
			if int(r.local[h.other]) < b {
				continue
			}
			set := &r.sets[h.set]
			width := r.of.width(set.site, set.types)
			if r.seats[set.site] < width || slices.ContainsFunc(set.types, func(o int32) bool { return int(r.local[o]) < b }) {
				continue
			}
			if wait.types != nil && wait.loss <= set.loss {
				list, wait.types = append(list, wait), nil
			}
			from := len(r.arena)
			for _, o := range set.types {
				r.arena = append(r.arena, r.local[o])
			}
			list = append(list, move{site: set.site, width: width, types: r.arena[from:], loss: set.loss})
		}
		if wait.types != nil && wait.loss < r.limit {
			list = append(list, wait)
		}
		r.moves[b] = list
	}
}

// branch decides about type b, from the n-th move on, and the types after it, at
// a loss so far; idle is the price of the GPUs left.
func (r *repair) branch(b, n int, loss, idle int64) {
	for b < len(r.types) && r.left[b] == 0 {
		b, n = b+1, 0
	}
	if b == len(r.types) || r.open == 0 {
		for ; b < len(r.types); b++ {
			loss += r.u[r.types[b]] * int64(r.left[b])
		}
		if loss+idle < r.limit {
			r.limit, r.found = loss+idle, true
			r.best = append(r.best[:0], r.made...)
		}
		return
	}
	for ; n < len(r.moves[b]); n++ {
		m := &r.moves[b][n]
		if r.work++; loss+m.loss >= r.limit || r.work > maxWork {
			return
		}
		switch {
		case m.site == none:
			r.left[b]--
			r.branch(b, n, loss+m.loss, idle)
			r.left[b]++
		case r.seats[m.site] >= m.width && r.take(m.types):
			r.made = append(r.made, m)
			r.seats[m.site] -= m.width
			r.open -= m.width
			r.branch(b, n, loss+m.loss, idle-r.most[m.site]*int64(m.width))
			r.open += m.width
			r.seats[m.site] += m.width
			r.made = r.made[:len(r.made)-1]
			r.giveBack(m.types)
		}
	}
}

// take removes one task of each type from those left; false if one is missing.
func (r *repair) take(types []int32) bool {
	for n, b := range types {
		if r.left[b] == 0 {
			r.giveBack(types[:n])
			return false
		}
		r.left[b]--
	}
	return true
}

func (r *repair) giveBack(types []int32) {
	for _, b := range types {
		r.left[b]++
	}
}

// members removes a task for each of types from the loose ones and returns them,
// ascending.
func (r *repair) members(types []int32) []int32 {
	out := make([]int32, 0, len(types))
	for _, b := range types {
		last := len(r.tasks[b]) - 1
		out = append(out, r.tasks[b][last])
		r.tasks[b] = r.tasks[b][:last]
	}
	slices.Sort(out)
	return out
}

// neighbours chooses the GPUs and waiting tasks to rearrange: a GPU with a
// large loss, then those that hold the tasks with which its tasks would do well.
type neighbours struct {
	*Generation
	pool  *pool
	group []int // group of each task, none if it waits
	room  int   // loose tasks at most
	whole bool  // everything was taken apart once: see chooseWide
	// losers are the groups that lose anything against the prices.
	losers []int
}
