package books

import (
	"cmp"
	"math"
	"slices"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	"example.com/colloc/colloc"
)

// offered is a card that the Dispatcher is shown: which shapes it takes, and whether somebody is about to leave it.
type offered struct {
	id, takes string
	leaves    bool
}

// offer returns the cards that the Dispatcher is shown, those last that somebody is to leave first: of each group that it cannot tell apart as many as are asked
// for, and the rest of the node, for gangs go by nodes.
func (t *turn) offer() []colloc.GPU {
	b := t.books
	type group struct {
		class int
		takes string
		rank  int
	}
	asked := 0
	for _, u := range t.batch {
		asked += u.width()
	}
	shown, last := map[group]int{}, map[group]*cluster.Node{}
	var cards []offered
	for _, n := range t.inOrder() {
		open, taken := t.takes(n)
		for i, d := range open {
			g := group{class: d.Class, takes: taken[i]}
			if rank, free := t.rank(d); !free {
				g.rank = math.MaxInt
			} else {
				g.rank = rank
			}
			if taken[i] == "" || !b.looksAhead() && shown[g] >= asked && last[g] != n {
				continue
			}
			shown[g]++
			last[g] = n
			cards = append(cards, offered{d.GPU.ID, taken[i], len(t.staying(d)) < len(d.Here)})
		}
	}
	if t.widest() == nil { // else those of a node stay together
		slices.SortStableFunc(cards, func(x, y offered) int {
			switch {
			case x.leaves == y.leaves:
				return 0
			case x.leaves:
				return 1
			}
			return -1
		})
	}
	list := make([]colloc.GPU, len(cards))
	for i := range cards {
		list[i] = b.cluster.Cards[cards[i].id].GPU
	}
	for i, s := range t.shapes {
		for k := range cards {
			if cards[k].takes[i] == no {
				s.bars = append(s.bars, cards[k].id)
			}
		}
	}
	return list
}

// yes and no are what the cards of a node say to each shape.
const yes, no = '1', '0'

// takes returns the cards of a node that are open, and for each which shapes it takes; empty is none.
func (t *turn) takes(n *cluster.Node) ([]*cluster.Card, []string) {
	b := t.books
	said := make([]byte, len(t.shapes))
	var gangs []int
	for i, s := range t.shapes {
		said[i] = yes
		if why := b.cluster.Refuses(n, s.unit.first()); why != "" {
			s.refuses[why]++
			said[i] = no
		} else if s.unit.gang != nil {
			gangs = append(gangs, i)
		}
	}
	if !slices.Contains(said, yes) {
		return nil, nil
	}
	var open []*cluster.Card
	for _, d := range n.Cards {
		if why := b.cluster.Shut(d); why != "" {
			t.shut[why]++
		} else if b.rooms[d.GPU.ID] != "" {
			t.shut[keptText]++
		} else {
			open = append(open, d)
		}
	}
	seats := make([][]*cluster.Card, len(gangs))
	for k, i := range gangs {
		seats[k] = t.seats(t.shapes[i].unit, n, open)
	}
	taken, all := make([]string, len(open)), string(said)
	for i, d := range open {
		if taken[i] = all; len(gangs) == 0 {
			continue
		}
		mine := []byte(all)
		for k, of := range gangs {
			if !slices.Contains(seats[k], d) {
				mine[of] = no
			}
		}
		if taken[i] = string(mine); !slices.Contains(mine, yes) {
			taken[i] = ""
		}
	}
	return open, taken
}

// seats are the cards of a node that a gang may have: as many of each product as its pods there take, and nobody on
// them but who makes room for it.
func (t *turn) seats(u *unit, n *cluster.Node, open []*cluster.Card) []*cluster.Card {
	kinds := map[string][]*cluster.Card{}
	for _, d := range open {
		if rank, free := t.rank(d); free && rank < u.priority() && (u.only() == "" || d.GPU.Model.Name == u.only()) {
			kind := string(d.Product(nil))
			kinds[kind] = append(kinds[kind], d)
		}
	}
	var all []*cluster.Card
	members := n.Members(u.first(), len(open))
	for _, cards := range kinds {
		slices.SortStableFunc(cards, func(x, y *cluster.Card) int {
			a, _ := t.rank(x)
			b, _ := t.rank(y)
			return cmp.Compare(a, b)
		})
		all = append(all, cards[:u.each()*min(members, len(cards)/u.each())]...)
	}
	return all
}

// inOrder are the nodes that have cards: those first that take the whole of the widest gang, and of these the tightest,
// then those that take most of it.
func (t *turn) inOrder() []*cluster.Node {
	var list []*cluster.Node
	for _, d := range t.books.cluster.InOrder() {
		if len(list) == 0 || list[len(list)-1] != d.Node {
			list = append(list, d.Node)
		}
	}
	widest := t.widest()
	if widest == nil {
		return list
	}
	empty := map[*cluster.Node]int{}
	for _, n := range list {
		for _, d := range n.Cards {
			if len(t.staying(d)) == 0 {
				empty[n]++
			}
		}
	}
	slices.SortStableFunc(list, func(x, y *cluster.Node) int {
		a, b := empty[x], empty[y]
		if whole := widest.width(); a >= whole && b >= whole {
			return cmp.Compare(a, b)
		}
		return cmp.Compare(b, a)
	})
	return list
}

// widest is the gang of the batch that asks for most; nil is that there is none.
func (t *turn) widest() (widest *unit) {
	for _, u := range t.batch {
		if u.gang != nil && (widest == nil || u.width() > widest.width()) {
			widest = u
		}
	}
	return widest
}
