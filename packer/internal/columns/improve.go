package columns

import (
	"context"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/search"
)

// nearest is how many of a task's best sets guide the choice of neighbours.
const nearest = 30

// farOff is the gap from which annealing starts the repairs from another place.
// Below, it finds other plans, but no better ones.
const farOff = 0.005

// ImprovePlan searches for better plans: as many steps of a local search as steps
// says, which cost little, then as many repairs at most, and the same with
// annealing if that leaves a large gap. It returns how many repairs it made.
func (g *Generation) ImprovePlan(ctx context.Context, steps int) (int, error) {
	if g.bound == math.MaxInt64 || len(g.Groups) == 0 || g.done() {
		return 0, nil
	}
	if err := g.TakeApart(ctx, steps); err != nil {
		return 0, err
	}
	made := g.repair(ctx, steps)
	if float64(g.bound-g.value) > farOff*float64(g.base+g.bound) && g.Estimable(steps) {
		if err := g.Anneal(ctx, steps); err != nil {
			return 0, err
		}
		made += g.repair(ctx, steps)
	}
	return made, nil
}

// repair makes as many repairs as steps says, at most, and returns how many.
func (g *Generation) repair(ctx context.Context, steps int) int {
	g.tally()
	if g.done() {
		return 0
	}
	p := g.newPool(ctx, g.bound-g.value)
	n := &neighbours{Generation: g, pool: p, group: make([]int, len(g.In.Tasks))}
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

// locate notes where tasks are and which groups lose anything.
func (n *neighbours) locate() {
	for i := range n.group {
		n.group[i] = none
	}
	n.losers = n.losers[:0]
	for s := range n.Groups {
		for _, i := range n.Groups[s].Tasks {
			n.group[i] = s
		}
		if n.loss(s) > 0 {
			n.losers = append(n.losers, s)
		}
	}
}

// loss returns what group s loses against the prices.
func (n *neighbours) loss(s int) int64 {
	to := &n.Groups[s]
	if to.Part {
		return 0 // counted with the GPU that stands for the gang
	}
	loss := n.most[n.at[to.Gpu]]*int64(1+len(to.More)) - instance.Quarters*(to.Value-n.In.Classes[to.Class].Base)
	for _, i := range to.Tasks {
		loss += n.u[n.cat.Of[i]]
	}
	return loss
}

// choose fills picked, spots and loose.
func (n *neighbours) choose() {
	n.Picked, n.Spots, n.Loose = n.Picked[:0], n.Spots[:0], n.Loose[:0]
	n.room = maxLoose/3 + n.Rng.IntN(maxLoose*2/3+1)
	n.takeVacant()
	if n.In.Gangs {
		n.chooseWide()
		return
	}
	n.take(n.seed())
	for range min(search.MaxQueued, len(n.Waiting)) {
		if w := n.Rng.IntN(len(n.Waiting)); !slices.Contains(n.Spots, w) && len(n.Loose) < n.room {
			n.Spots = append(n.Spots, w)
			n.Loose = append(n.Loose, n.Waiting[w])
		}
	}
	for range 2 * n.room {
		if len(n.Loose) == 0 {
			n.take(n.Rng.IntN(len(n.Groups)))
			continue
		}
		sets := n.pool.by[n.cat.Of[n.Loose[n.Rng.IntN(len(n.Loose))]]]
		if len(sets) == 0 {
			continue
		}
		for _, t := range n.pool.sets[sets[n.Rng.IntN(min(len(sets), nearest))].set].types {
			m := n.cat.Members[t]
			if s := n.group[m[n.Rng.IntN(len(m))]]; s != none {
				n.take(s)
			}
		}
	}
	slices.Sort(n.Loose)
	slices.Sort(n.Spots)
}

// seed returns a group to begin with: one that loses much.
func (n *neighbours) seed() int {
	best := n.Rng.IntN(len(n.Groups))
	if len(n.losers) > 0 {
		best = n.losers[n.Rng.IntN(len(n.losers))]
		for range 3 {
			if s := n.losers[n.Rng.IntN(len(n.losers))]; n.loss(s) > n.loss(best) {
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
	for s := range n.Groups {
		if search.Vacant(&n.Groups[s]) && (n.In.Gangs || len(n.Picked) < maxVacant) {
			n.Picked = append(n.Picked, s)
		}
	}
}

// take picks group s if its tasks still fit.
func (n *neighbours) take(s int) {
	if n.Groups[s].Part || slices.Contains(n.Picked, s) || len(n.Loose)+len(n.Groups[s].Tasks) > n.room {
		return
	}
	n.Pick(s)
}

// replace arranges what was picked as the repair found.
func (n *neighbours) replace(r *repair) {
	for _, s := range n.Picked {
		to := &n.Groups[s]
		base := n.In.Classes[to.Class].Base
		n.value -= instance.Quarters * (to.Value - base)
		to.Tasks, to.Value, to.More, to.Part = to.Tasks[:0], base, nil, false
	}
	for _, at := range slices.Backward(n.Spots) {
		n.Waiting = slices.Delete(n.Waiting, at, at+1)
	}
	for _, m := range r.best {
		at := slices.IndexFunc(n.Picked, func(s int) bool {
			to := &n.Groups[s]
			return n.at[to.Gpu] == m.site && search.Vacant(to)
		})
		tasks := r.members(m.types)
		to := &n.Groups[search.Widen(n.In, n.Groups, n.Picked[at], tasks[0])]
		to.Tasks = tasks
		add := n.gain(m.site, n.cat.Typed(nil, to.Tasks))
		to.Value += add
		n.value += instance.Quarters * add
	}
	for b := range r.types {
		n.Waiting = append(n.Waiting, r.tasks[b]...)
	}
	n.locate()
}

// chooseWide is choose where there are gangs: everything the first time, if that is
// little, and then a GPU with a large loss, waiting tasks and others as they come.
// All vacant GPUs are picked.
func (n *neighbours) chooseWide() {
	if !n.whole && len(n.In.Tasks) <= maxLoose {
		n.whole, n.room = true, maxLoose
		for w, i := range n.Waiting {
			n.Spots, n.Loose = append(n.Spots, w), append(n.Loose, i)
		}
		for g := range n.Groups {
			n.take(g)
		}
		slices.Sort(n.Loose)
		return
	}
	n.take(n.seed())
	for range min(n.room/2, len(n.Waiting)) {
		if w := n.Rng.IntN(len(n.Waiting)); !slices.Contains(n.Spots, w) && len(n.Loose) < n.room {
			n.Spots, n.Loose = append(n.Spots, w), append(n.Loose, n.Waiting[w])
		}
	}
	for range 2 * n.room {
		n.take(n.Rng.IntN(len(n.Groups)))
	}
	slices.Sort(n.Loose)
	slices.Sort(n.Spots)
}
