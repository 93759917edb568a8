package packer

import (
	"cmp"
	"context"
	"slices"
)

// Gangs in a search: each GPU has a group of its own. The first of a gang's stands
// for all; the others are its parts and hold nothing.

// joinGangs joins the groups of the GPUs that the gangs of pl take, and returns by
// the GPU that stands for a gang in pl the group that does here.
func (s *search) joinGangs(pl *plan) map[int32]int {
	first := map[int32]int{}
	for lead, more := range pl.more {
		all := []int{s.of[lead]}
		for _, g := range more {
			all = append(all, s.of[g])
		}
		first[lead] = join(s.groups, all)
	}
	return first
}

// widthOn returns how many GPUs task i takes on class k: one beside residents,
// whose other GPUs are not for the plan to give.
func (in *instance) widthOn(k int, i int32) int {
	if !in.gangs || k >= in.free {
		return 1
	}
	return in.tasks[i].gpus()
}

// width returns how many GPUs a set of types takes in a site.
func (g *generation) width(at int, types []int32) int {
	if !g.in.gangs {
		return 1
	}
	return g.in.widthOn(g.sites[at].class, g.cat.members[types[0]][0])
}

// vacant reports whether no task is on the GPU of a group.
func vacant(g *group) bool { return len(g.tasks) == 0 && !g.part }

// takes reports whether the n-th of groups has as many GPUs as task i needs, or is
// vacant and so are as many more of its class.
func (in *instance) takes(groups []group, n int, i int32) bool {
	if !in.gangs {
		return true
	}
	g := &groups[n]
	left := in.widthOn(g.class, i)
	if !vacant(g) {
		return !g.part && len(g.more)+1 == left
	}
	for m := range groups {
		if groups[m].class == g.class && vacant(&groups[m]) {
			left--
		}
	}
	return left <= 0
}

// widen joins the n-th of groups, if that is vacant, with as many more of its class
// as task i needs, and returns the one that stands for all.
func (in *instance) widen(groups []group, n int, i int32) int {
	width := in.widthOn(groups[n].class, i)
	if width == 1 || !vacant(&groups[n]) {
		return n
	}
	all := []int{n}
	for m := range groups {
		if len(all) < width && m != n && groups[m].class == groups[n].class && vacant(&groups[m]) {
			all = append(all, m)
		}
	}
	return join(groups, all)
}

// join makes one of the vacant groups in all and returns it.
func join(groups []group, all []int) int {
	slices.Sort(all)
	lead := &groups[all[0]]
	for _, m := range all[1:] {
		lead.more = append(lead.more, groups[m].gpu)
		groups[m].part = true
	}
	return all[0]
}

// pick takes group s apart, with its parts.
func (s *search) pick(g int) {
	s.picked = append(s.picked, g)
	for _, o := range s.groups[g].more {
		s.picked = append(s.picked, s.of[o])
	}
	s.loose = append(s.loose, s.groups[g].tasks...)
}

// ruinWide is ruin where there are gangs: it picks as many GPUs as the widest of the
// waiting tasks that join in may need, every other time of one class.
func (s *search) ruinWide() int64 {
	s.callUp()
	need, value := ruined, int64(0)
	for _, i := range s.loose {
		need = max(need, s.in.tasks[i].gpus())
	}
	class, same := s.groups[s.rng.IntN(len(s.groups))].class, s.rng.IntN(2) == 0
	for range 8 * need {
		g := s.rng.IntN(len(s.groups))
		to := &s.groups[g]
		if len(s.picked) < need && !to.part && (!same || to.class == class) && !slices.Contains(s.picked, g) {
			value += to.value
			s.pick(g)
		}
	}
	return value
}

// chooseWide is choose where there are gangs: everything the first time, if that is
// little, and then a GPU with a large loss, waiting tasks and others as they come.
// All vacant GPUs are picked.
func (n *neighbours) chooseWide() {
	if !n.whole && len(n.in.tasks) <= maxLoose {
		n.whole, n.room = true, maxLoose
		for w, i := range n.waiting {
			n.spots, n.loose = append(n.spots, w), append(n.loose, i)
		}
		for g := range n.groups {
			n.take(g)
		}
		slices.Sort(n.loose)
		return
	}
	n.take(n.seed())
	for range min(n.room/2, len(n.waiting)) {
		if w := n.rng.IntN(len(n.waiting)); !slices.Contains(n.spots, w) && len(n.loose) < n.room {
			n.spots, n.loose = append(n.spots, w), append(n.loose, n.waiting[w])
		}
	}
	for range 2 * n.room {
		n.take(n.rng.IntN(len(n.groups)))
	}
	slices.Sort(n.loose)
	slices.Sort(n.spots)
}

// walkWide is the last step of walk where sets may take several GPUs.
func (p *pricePass) walkWide(row []int32, paid int64) {
	for i, g := range row {
		if g <= 0 || p.stop {
			continue
		}
		profit := quarters*int64(g) - p.u[i] - paid
		width := p.cat.in.tasks[p.cat.members[i][0]].gpus()
		p.top = max(p.top, share(profit, width))
		if profit -= int64(width-1) * p.other; profit > p.floor {
			p.set[0] = int32(i)
			p.stop = p.stop || !p.visit(p.set, profit)
		}
	}
}

// greedyPerGPU is greedy with the tasks in the order of their weight for each GPU.
func greedyPerGPU(ctx context.Context, in *instance, value valuer) (*plan, error) {
	order := in.greedyOrder()
	slices.SortStableFunc(order, func(a, b int) int {
		s, t := in.tasks[a], in.tasks[b]
		return cmp.Compare(t.weight()/float64(t.gpus()), s.weight()/float64(s.gpus()))
	})
	return fill(ctx, in, value, order)
}
