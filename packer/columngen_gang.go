package packer

import "slices"

// width returns how many GPUs a set of types takes in a site.
func (g *generation) width(at int, types []int32) int {
	if !g.in.gangs {
		return 1
	}
	return g.in.widthOn(g.sites[at].class, g.cat.members[types[0]][0])
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
