package packer

import (
	"context"
	"math"
	"slices"
)

// nearest is how many of a task's best sets guide the choice of neighbours.
const nearest = 30

// farOff is the gap from which annealing starts the repairs from another place.
// Below, it finds other plans, but no better ones.
const farOff = 0.005

// improvePlan searches for better plans: as many steps of a local search as steps
// says, which cost little, then as many repairs at most, and the same with
// annealing if that leaves a large gap. It returns how many repairs it made.
func (g *generation) improvePlan(ctx context.Context, steps int) (int, error) {
	if g.bound == math.MaxInt64 || len(g.groups) == 0 || g.done() {
		return 0, nil
	}
	if err := g.takeApart(ctx, steps); err != nil {
		return 0, err
	}
	made := g.repair(ctx, steps)
	if float64(g.bound-g.value) > farOff*float64(g.base+g.bound) && g.estimable(steps) {
		if err := g.anneal(ctx, steps); err != nil {
			return 0, err
		}
		made += g.repair(ctx, steps)
	}
	return made, nil
}

// repair makes as many repairs as steps says, at most, and returns how many.
func (g *generation) repair(ctx context.Context, steps int) int {
	g.tally()
	if g.done() {
		return 0
	}
	p := g.newPool(ctx, g.bound-g.value)
	n := &neighbours{generation: g, pool: p, group: make([]int, len(g.in.tasks))}
	n.locate()
	r := newRepair(g, p)
	made := 0
	for ; made < steps && !g.done() && ctx.Err() == nil; made++ {
		n.choose()
		if r.run(n) {
			n.replace(r)
		}
	}
	return made
}

// neighbours chooses the GPUs and waiting tasks to rearrange: a GPU with a
// large loss, then those that hold the tasks with which its tasks would do well.
type neighbours struct {
	*generation
	pool  *pool
	group []int // group of each task, none if it waits
	room  int   // loose tasks at most
	whole bool  // everything was taken apart once: see chooseWide
	// losers are the groups that lose anything against the prices.
	losers []int
}

// locate notes where tasks are and which groups lose anything.
func (n *neighbours) locate() {
	for i := range n.group {
		n.group[i] = none
	}
	n.losers = n.losers[:0]
	for s := range n.groups {
		for _, i := range n.groups[s].tasks {
			n.group[i] = s
		}
		if n.loss(s) > 0 {
			n.losers = append(n.losers, s)
		}
	}
}

// loss returns what group s loses against the prices.
func (n *neighbours) loss(s int) int64 {
	to := &n.groups[s]
	if to.part {
		return 0 // counted with the GPU that stands for the gang
	}
	loss := n.most[n.at[to.gpu]]*int64(1+len(to.more)) - quarters*(to.value-n.in.classes[to.class].base)
	for _, i := range to.tasks {
		loss += n.u[n.cat.of[i]]
	}
	return loss
}

// choose fills picked, spots and loose.
func (n *neighbours) choose() {
	n.picked, n.spots, n.loose = n.picked[:0], n.spots[:0], n.loose[:0]
	n.room = maxLoose/3 + n.rng.IntN(maxLoose*2/3+1)
	n.takeVacant()
	if n.in.gangs {
		n.chooseWide()
		return
	}
	n.take(n.seed())
	for range min(maxQueued, len(n.waiting)) {
		if w := n.rng.IntN(len(n.waiting)); !slices.Contains(n.spots, w) && len(n.loose) < n.room {
			n.spots = append(n.spots, w)
			n.loose = append(n.loose, n.waiting[w])
		}
	}
	for range 2 * n.room {
		if len(n.loose) == 0 {
			n.take(n.rng.IntN(len(n.groups)))
			continue
		}
		sets := n.pool.by[n.cat.of[n.loose[n.rng.IntN(len(n.loose))]]]
		if len(sets) == 0 {
			continue
		}
		for _, t := range n.pool.sets[sets[n.rng.IntN(min(len(sets), nearest))].set].types {
			m := n.cat.members[t]
			if s := n.group[m[n.rng.IntN(len(m))]]; s != none {
				n.take(s)
			}
		}
	}
	slices.Sort(n.loose)
	slices.Sort(n.spots)
}

// seed returns a group to begin with: one that loses much.
func (n *neighbours) seed() int {
	best := n.rng.IntN(len(n.groups))
	if len(n.losers) > 0 {
		best = n.losers[n.rng.IntN(len(n.losers))]
		for range 3 {
			if s := n.losers[n.rng.IntN(len(n.losers))]; n.loss(s) > n.loss(best) {
				best = s
			}
		}
	}
	return best
}

// maxVacant is how many vacant GPUs a repair may use; for gangs it may all.
const maxVacant = 4 * maxLoose

// takeVacant picks vacant GPUs, before any others.
func (n *neighbours) takeVacant() {
	for s := range n.groups {
		if vacant(&n.groups[s]) && (n.in.gangs || len(n.picked) < maxVacant) {
			n.picked = append(n.picked, s)
		}
	}
}

// take picks group s if its tasks still fit.
func (n *neighbours) take(s int) {
	if n.groups[s].part || slices.Contains(n.picked, s) || len(n.loose)+len(n.groups[s].tasks) > n.room {
		return
	}
	n.pick(s)
}

// replace arranges what was picked as the repair found.
func (n *neighbours) replace(r *repair) {
	for _, s := range n.picked {
		to := &n.groups[s]
		base := n.in.classes[to.class].base
		n.value -= quarters * (to.value - base)
		to.tasks, to.value, to.more, to.part = to.tasks[:0], base, nil, false
	}
	for _, at := range slices.Backward(n.spots) {
		n.waiting = slices.Delete(n.waiting, at, at+1)
	}
	for _, m := range r.best {
		at := slices.IndexFunc(n.picked, func(s int) bool {
			to := &n.groups[s]
			return n.at[to.gpu] == m.site && vacant(to)
		})
		tasks := r.members(m.types)
		to := &n.groups[widen(n.in, n.groups, n.picked[at], tasks[0])]
		to.tasks = tasks
		add := n.gain(m.site, n.cat.typed(nil, to.tasks))
		to.value += add
		n.value += quarters * add
	}
	for b := range r.types {
		n.waiting = append(n.waiting, r.tasks[b]...)
	}
	n.locate()
}
