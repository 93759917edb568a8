package gangs

import (
	"cmp"
	"slices"
	"strings"
)

// Ask is what a gang needs: so many pods, each with so many GPUs of its node, both at
// least 1. All GPUs are of one kind.
type Ask struct{ Pods, GPUs int }

// Node is a machine with the cards that a gang may have.
type Node struct {
	// Name is unique.
	Name string
	// Pods is how many pods of the gang it takes by what else they ask for.
	Pods int
	// Cards are in the node's order.
	Cards []Card
}

// Card is a GPU.
type Card struct {
	// ID is unique. Cards of one Kind are the same to a gang.
	ID, Kind string
	// Holds are the holders that are there, by their places in the list given to [Room];
	// none is that it is empty.
	Holds []int
}

// Seat is where one pod of a gang runs.
type Seat struct {
	Node  string
	Cards []string
}

// Site has a Seat for each pod of a gang.
type Site struct {
	Kind  string
	Seats []Seat
}

// Cards are those of all seats.
func (s *Site) Cards() []string {
	var ids []string
	for i := range s.Seats {
		ids = append(ids, s.Seats[i].Cards...)
	}
	return ids
}

// Sites returns places for gangs that ask the same, of each kind as many that do not
// overlap as there are, most at most, in the order of kinds. Only empty cards count. Each
// site is on as few nodes as it can be, and of these leaves the largest gaps whole.
// O(kinds x most x nodes x pods).
func Sites(nodes []Node, ask Ask, most int) []Site {
	var all []Site
	for _, kind := range kinds(nodes) {
		free := make([]gap, 0, len(nodes))
		for i := range nodes {
			free = append(free, gapOf(&nodes[i], kind))
		}
		for range most {
			seats := seat(free, ask)
			if seats == nil {
				break
			}
			all = append(all, Site{kind, seats})
		}
	}
	return all
}

// kinds are those of the cards, in order.
func kinds(nodes []Node) []string {
	var list []string
	for i := range nodes {
		for _, c := range nodes[i].Cards {
			list = append(list, c.Kind)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// gap is what a node has left.
type gap struct {
	node  string
	pods  int
	cards []string
}

func gapOf(n *Node, kind string) gap {
	g := gap{node: n.Name, pods: n.Pods}
	for _, c := range n.Cards {
		if c.Kind == kind && len(c.Holds) == 0 {
			g.cards = append(g.cards, c.ID)
		}
	}
	return g
}

// takes is how many pods of a gang find room.
func (g *gap) takes(ask Ask) int { return max(0, min(g.pods, len(g.cards)/ask.GPUs)) }

// seat takes the seats of one gang out of the gaps; nil is that there is no room, and the
// gaps are as they were. The node that takes most comes first, and the last one is the
// tightest that takes the rest.
func seat(free []gap, ask Ask) []Seat {
	room := 0
	for i := range free {
		room += free[i].takes(ask)
	}
	if room < ask.Pods {
		return nil
	}
	var seats []Seat
	for len(seats) < ask.Pods {
		left := ask.Pods - len(seats)
		g := slices.MinFunc(pointers(free), func(x, y *gap) int {
			a, b := min(left, x.takes(ask)), min(left, y.takes(ask))
			return cmp.Or(cmp.Compare(b, a), cmp.Compare(len(x.cards), len(y.cards)), strings.Compare(x.node, y.node))
		})
		for range min(left, g.takes(ask)) {
			seats = append(seats, Seat{g.node, slices.Clone(g.cards[:ask.GPUs])})
			g.cards, g.pods = g.cards[ask.GPUs:], g.pods-1
		}
	}
	return seats
}

func pointers(list []gap) []*gap {
	all := make([]*gap, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}
