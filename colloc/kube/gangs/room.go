package gangs

import (
	"cmp"
	"maps"
	"slices"
)

// Holder is who would have to go from all of its cards at once: a pod, or a gang.
type Holder struct {
	// Priority is its class; the lowest goes first.
	Priority int
	// Pods is how many pods it has, at least 1.
	Pods int
}

// Room returns a site for a gang, as [Sites] does, once some holders are gone, and these
// by their places in the list. All that are listed may go. The highest priority among
// them is as low as can be, then they have few pods, and none of them could stay: that is
// the fewest pods that will do where no holder has two cards, and may be more where one
// has. False is that there is no room even if all go.
// O(priorities x kinds x pods x cards x holders).
func Room(nodes []Node, ask Ask, holders []Holder) (Site, []int, bool) {
	classes := make([]int, 0, len(holders))
	for _, h := range holders {
		classes = append(classes, h.Priority)
	}
	slices.Sort(classes)
	for _, class := range slices.Compact(classes) {
		var best []int
		kind := ""
		for _, k := range kinds(nodes) {
			r := room{nodes: nodes, kind: k, ask: ask, holders: holders, class: class}
			if gone := r.clear(); gone != nil && (best == nil || r.pods(gone) < r.pods(best)) {
				best, kind = gone, k
			}
		}
		if best != nil {
			r := room{nodes: nodes, kind: kind, ask: ask, holders: holders}
			return Site{kind, r.seats(best)}, best, true
		}
	}
	return Site{}, nil, false
}

// room is a question about the cards of one kind, where holders up to a class may go.
type room struct {
	nodes   []Node
	kind    string
	ask     Ask
	holders []Holder
	class   int
}

// pods is how many some holders have.
func (r *room) pods(gone []int) int {
	n := 0
	for _, h := range gone {
		n += r.holders[h].Pods
	}
	return n
}

// seats places the gang once some holders are gone; nil is that there is no room.
func (r *room) seats(gone []int) []Seat {
	free := make([]gap, len(r.nodes))
	for i := range r.nodes {
		n := Node{Name: r.nodes[i].Name, Pods: r.nodes[i].Pods}
		for _, c := range r.nodes[i].Cards {
			c.Holds = slices.DeleteFunc(slices.Clone(c.Holds), func(h int) bool { return slices.Contains(gone, h) })
			n.Cards = append(n.Cards, c)
		}
		free[i] = gapOf(&n, r.kind)
	}
	return seat(free, r.ask)
}

// clear chooses who goes: for one pod of the gang after the other the cards that cost
// least, and of those who would go lets stay who can. Nil is that there is no room.
func (r *room) clear() []int {
	gone, taken := map[int]bool{}, map[string]bool{}
	pods := map[string]int{}
	for range r.ask.Pods {
		var best *block
		for i := range r.nodes {
			n := &r.nodes[i]
			if pods[n.Name] >= n.Pods {
				continue
			}
			if b := r.cheapest(n, gone, taken); b != nil && (best == nil || b.cost < best.cost) {
				best = b
			}
		}
		if best == nil {
			return nil
		}
		for _, c := range best.cards {
			taken[c.ID] = true
			for _, h := range c.Holds {
				gone[h] = true
			}
		}
		pods[best.node]++
	}
	list := slices.SortedFunc(maps.Keys(gone), func(x, y int) int {
		return cmp.Or(cmp.Compare(r.holders[y].Priority, r.holders[x].Priority), cmp.Compare(r.holders[y].Pods, r.holders[x].Pods), cmp.Compare(y, x))
	})
	for _, h := range slices.Clone(list) {
		fewer := slices.DeleteFunc(slices.Clone(list), func(o int) bool { return o == h })
		if r.seats(fewer) != nil {
			list = fewer
		}
	}
	slices.Sort(list)
	return append([]int{}, list...)
}

// block is the cards of one node for one pod of a gang.
type block struct {
	node  string
	cards []Card
	cost  int
}

// cheapest takes one card after the other whose holders add the fewest pods to those that
// go; nil is that the node has too few.
func (r *room) cheapest(n *Node, gone map[int]bool, taken map[string]bool) *block {
	b := &block{node: n.Name}
	going := maps.Clone(gone)
	for range r.ask.GPUs {
		at, least := -1, 0
		for i, c := range n.Cards {
			if cost, ok := r.cost(&c, going); ok && !taken[c.ID] && !slices.ContainsFunc(b.cards, func(o Card) bool { return o.ID == c.ID }) &&
				(at < 0 || cost < least || cost == least && before(&c, &n.Cards[at])) {
				at, least = i, cost
			}
		}
		if at < 0 {
			return nil
		}
		b.cards, b.cost = append(b.cards, n.Cards[at]), b.cost+least
		for _, h := range n.Cards[at].Holds {
			going[h] = true
		}
	}
	return b
}

// before orders cards that cost the same by who goes first.
func before(x, y *Card) bool { return slices.Compare(x.Holds, y.Holds) < 0 }

// cost is how many pods more have to go for a card; false is that it cannot be had.
func (r *room) cost(c *Card, going map[int]bool) (pods int, ok bool) {
	if c.Kind != r.kind {
		return 0, false
	}
	for _, h := range c.Holds {
		if r.holders[h].Priority > r.class {
			return 0, false
		}
		if !going[h] {
			pods += r.holders[h].Pods
		}
	}
	return pods, true
}
