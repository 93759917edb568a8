package packer

import "slices"

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

// vacant reports whether no task is on the GPU of a group.
func vacant(g *group) bool { return len(g.tasks) == 0 && !g.part }

// takes reports whether the n-th of groups has as many GPUs as task i needs, or is
// vacant and so are as many more of its class.
func takes(in *instance, groups []group, n int, i int32) bool {
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
func widen(in *instance, groups []group, n int, i int32) int {
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
		need = max(need, s.in.tasks[i].gpus)
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
