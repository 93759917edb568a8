package columns

import (
	"slices"
)

// width returns how many GPUs a set of types takes in a site.
func (g *generation) width(at int, types []int32) int {
	if !g.In.Gangs {
		return 1
	}
	return g.In.WidthOn(g.sites[at].class, g.cat.Members[types[0]][0])
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
