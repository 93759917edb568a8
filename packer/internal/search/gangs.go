package search

import (
	"slices"

	"example.com/colloc/packer/internal/instance"
)

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
