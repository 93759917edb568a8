package search

import (
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// Gangs in a search: each GPU has a group of its own. The first of a gang's stands
// for all; the others are its parts and hold nothing.

// joinGangs joins the groups of the GPUs that the gangs of pl take, and returns by
// the GPU that stands for a gang in pl the group that does here.
func (s *Search) joinGangs(pl *instance.Plan) map[int32]int {
	first := map[int32]int{}
	for lead, more := range pl.More {
		all := []int{s.of[lead]}
		for _, g := range more {
			all = append(all, s.of[g])
		}
		first[lead] = join(s.Groups, all)
	}
	return first
}

// Vacant reports whether no task is on the GPU of a group.
func Vacant(g *group) bool { return len(g.Tasks) == 0 && !g.Part }

// takes reports whether the n-th of groups has as many GPUs as task i needs, or is
// vacant and so are as many more of its class.
func takes(in *instance.Instance, groups []group, n int, i int32) bool {
	if !in.Gangs {
		return true
	}
	g := &groups[n]
	left := in.WidthOn(g.Class, i)
	if !Vacant(g) {
		return !g.Part && len(g.More)+1 == left
	}
	for m := range groups {
		if groups[m].Class == g.Class && Vacant(&groups[m]) {
			left--
		}
	}
	return left <= 0
}

// Widen joins the n-th of groups, if that is vacant, with as many more of its class
// as task i needs, and returns the one that stands for all.
func Widen(in *instance.Instance, groups []group, n int, i int32) int {
	width := in.WidthOn(groups[n].Class, i)
	if width == 1 || !Vacant(&groups[n]) {
		return n
	}
	all := []int{n}
	for m := range groups {
		if len(all) < width && m != n && groups[m].Class == groups[n].Class && Vacant(&groups[m]) {
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
		lead.More = append(lead.More, groups[m].Gpu)
		groups[m].Part = true
	}
	return all[0]
}

// Pick takes group s apart, with its parts.
func (s *Search) Pick(g int) {
	s.Picked = append(s.Picked, g)
	for _, o := range s.Groups[g].More {
		s.Picked = append(s.Picked, s.of[o])
	}
	s.Loose = append(s.Loose, s.Groups[g].Tasks...)
}

// ruinWide is ruin where there are gangs: it picks as many GPUs as the widest of the
// waiting tasks that join in may need, every other time of one class.
func (s *Search) ruinWide() int64 {
	s.callUp()
	need, value := ruined, int64(0)
	for _, i := range s.Loose {
		need = max(need, s.In.Tasks[i].Gpus)
	}
	class, same := s.Groups[s.Rng.IntN(len(s.Groups))].Class, s.Rng.IntN(2) == 0
	for range 8 * need {
		g := s.Rng.IntN(len(s.Groups))
		to := &s.Groups[g]
		if len(s.Picked) < need && !to.Part && (!same || to.Class == class) && !slices.Contains(s.Picked, g) {
			value += to.Value
			s.Pick(g)
		}
	}
	return value
}
