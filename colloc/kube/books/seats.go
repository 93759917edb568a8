package books

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/ledger"
)

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
	members := n.Members(u.first(), len(open)/u.each())
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

// rank is the highest priority of those who would have to go before a card is empty, the lowest number if nobody
// would; false is that somebody stays.
func (t *turn) rank(d *cluster.Card) (int, bool) {
	rank := math.MinInt
	for _, e := range t.staying(d) {
		if !t.yields(e) {
			return 0, false
		}
		rank = max(rank, e.Task.Priority)
	}
	return rank, true
}

// staying are those on a card who do not go by themselves, or are not waited for.
func (t *turn) staying(d *cluster.Card) []*cluster.Entry {
	if !t.books.preempts() {
		return d.Here
	}
	now := t.books.config.Now()
	return slices.DeleteFunc(slices.Clone(d.Here), func(e *cluster.Entry) bool { return e.Leaves(now) })
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

// seat is where one pod of a gang runs.
type seat struct {
	node  *cluster.Node
	cards []*cluster.Card
}

// seated are the seats of a gang on some cards; nil is that a node has a part of one.
func (t *turn) seated(u *unit, ids []string) []seat {
	var list []seat
	at := map[*cluster.Node]int{} // the last seat there
	for _, id := range slices.Sorted(slices.Values(ids)) {
		d := t.books.cluster.Cards[id]
		i, begun := at[d.Node]
		if !begun || len(list[i].cards) == u.each() {
			i = len(list)
			at[d.Node] = i
			list = append(list, seat{node: d.Node})
		}
		list[i].cards = append(list[i].cards, d)
	}
	if len(list) != len(u.pods) {
		return nil
	}
	return list
}

// sit lists the pods of a gang where the Dispatcher starts it, unless a node has a part of a seat or too little else
// for them.
func (t *turn) sit(u *unit, a *dispatch.Action) bool {
	b := t.books
	seats := t.seated(u, a.GPUs)
	if seats == nil {
		return false
	}
	for i, e := range u.pods {
		s := &seats[i]
		if b.cluster.Refuses(s.node, e) != "" {
			b.rise(u.pods[:i])
			return false
		}
		devices, addresses := make([]string, len(s.cards)), make([]string, len(s.cards))
		for k, d := range s.cards {
			devices[k], addresses[k] = d.Device, d.Address
		}
		b.cluster.List(e, api.Placement{
			Node: s.node.Name, Device: strings.Join(devices, ","), Address: strings.Join(addresses, ","), Reserved: b.reserves(e, a, &s.cards[0].GPU),
		})
	}
	return true
}

// rise is the opposite of sit.
func (b *Books) rise(list []*cluster.Entry) {
	for _, e := range list {
		b.cluster.Unlist(e)
		e.At = api.Placement{}
	}
}

// book enters gangs that sit in one step, so that those that share cards know of each other, or none.
func (b *Books) book(list []*unit) error {
	var claims []ledger.Claim
	var ids []string
	for _, u := range list {
		for _, e := range u.pods {
			claims = append(claims, b.cluster.Entered(e)...)
			ids = append(ids, e.At.GPUs()...)
		}
	}
	slices.Sort(ids)
	view, err := b.cluster.Ledger.View(slices.Compact(ids)...)
	if err != nil {
		return err
	}
	lease, err := b.cluster.Ledger.Reserve(view.Version, claims...)
	if err != nil {
		return err
	}
	return b.cluster.Ledger.Commit(lease) // each pod is given back by itself
}

// reserveGangs books all pods of gangs where the Dispatcher starts them. It returns those whose nodes have too little
// else beside the others.
func (t *turn) reserveGangs(starts []start, r *Round) (failed []*unit) {
	b := t.books
	var sitting []start
	for _, s := range starts {
		if t.sit(s.unit, s.action) {
			sitting = append(sitting, s)
		} else {
			failed = append(failed, s.unit)
		}
	}
	units := make([]*unit, len(sitting))
	for i, s := range sitting {
		units[i] = s.unit
	}
	if len(units) > 0 && b.book(units) != nil {
		for _, u := range units {
			b.rise(u.pods)
		}
		if len(units) == 1 {
			return append(failed, units...)
		}
		for i := range sitting { // each by itself
			failed = append(failed, t.reserveGangs(sitting[i:i+1], r)...)
		}
		return failed
	}
	for _, s := range sitting {
		beside := map[string]bool{}
		for _, e := range s.unit.pods {
			for _, d := range e.Cards {
				for _, o := range d.Here {
					beside[o.Gang.Key] = true
				}
			}
		}
		for _, e := range s.unit.pods {
			e.State = cluster.Writing
			r.Decisions = append(r.Decisions, Decision{
				Pod: e.Pod, At: e.At, Left: e.Left, Speed: s.action.Speed, Company: len(beside) - 1,
				Text: fmt.Sprintf("with %s on %s: speed %.2f, reserves %v of %v on each GPU, shared by %d gangs",
					s.unit.gang, e.At.GPU(), s.action.Speed, e.At.Reserved, b.usable(&e.Cards[0].GPU), len(beside)),
			})
		}
	}
	return failed
}

// asGang makes the task of a pod that of its gang. Its company are gangs of its namespace that start with it, and nobody else.
func (t *turn) asGang(u *unit, pod *colloc.Task) colloc.Task {
	task := *pod
	task.ID, task.GPUs = u.job, u.width()
	task.Kind += fmt.Sprintf("|%d pods", len(u.pods))
	own := "gangs:" + u.first().Pod.Namespace
	task.Labels, task.Only = append(slices.Clip(task.Labels), own), []string{own}
	return task
}
