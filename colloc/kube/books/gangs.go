package books

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	"example.com/colloc/colloc/kube/books/internal/words"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/gangs"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/packer"
)

// decideGangs places what it can of a crowd: the Planner says which gangs get a site and
// which share one.
func (b *Books) decideGangs(ctx context.Context, c *crowd, r *Round) error {
	why, shut := map[string]int{}, map[string]int{}
	sites := gangs.Sites(b.empty(c, why, shut), c.ask, len(c.gangs))
	refusal := Refusal{Reason: words.Reason(packer.TooFewGPUs.String()), Text: fmt.Sprintf(
		"no place for %d pods with %d empty GPUs of one product each; %s%s", c.ask.Pods, c.ask.GPUs, words.Nodes(b.cluster.Offering(), why), words.Cards(shut))}
	if words.Everywhere(b.cluster.Offering(), why) {
		refusal.Reason = NoNode
	}
	placed := map[string]bool{}
	if len(sites) > 0 {
		plan, err := b.planGangs(ctx, c, sites)
		if err != nil {
			return err
		}
		for i := range plan.Notes {
			if n := &plan.Notes[i]; !n.Placed {
				refusal.Reason, refusal.Text = words.Reason(n.Code.String()), strings.ReplaceAll(n.Text, n.ID, c.first.Gang.String())
			}
		}
		for _, f := range plan.LeftOut {
			refusal.Reason, refusal.Text = Fault, f.Error()
		}
		b.seatGangs(c, plan, sites, placed, r)
	}
	for _, g := range c.gangs {
		if next, _ := g.next(); !placed[g.Key] {
			b.wait(r, next, refusal.Reason, g.String()+": "+refusal.Text)
		}
	}
	return nil
}

// empty returns the nodes that take a gang's pods, with their empty cards, and counts why
// others do not.
func (b *Books) empty(c *crowd, why, shut map[string]int) []gangs.Node {
	return b.offered(c, why, shut, func(d *cluster.Card) ([]int, bool) { return nil, len(d.Here) == 0 })
}

// offered returns the nodes that take a gang's pods, with the cards that a condition holds
// for.
func (b *Books) offered(c *crowd, why, shut map[string]int, holds func(*cluster.Card) ([]int, bool)) []gangs.Node {
	var list []gangs.Node
	for _, name := range slices.Sorted(maps.Keys(b.cluster.Nodes)) {
		n := b.cluster.Nodes[name]
		if len(n.Cards) == 0 {
			continue
		}
		if no := b.cluster.Refuses(n, c.first); no != "" {
			why[no]++
			continue
		}
		out := gangs.Node{Name: name, Pods: n.Members(c.first, c.ask.Pods*len(c.gangs))}
		for _, d := range n.Cards {
			held, ok := holds(d)
			if !ok || c.only != "" && d.GPU.Model.Name != c.only {
				continue
			}
			if no := b.cluster.Shut(d); no != "" {
				shut[no]++
				continue
			}
			if b.cluster.KeptAway(d, c.key(), shut) {
				continue
			}
			out.Cards = append(out.Cards, gangs.Card{ID: d.GPU.ID, Kind: string(d.Product(nil)), Holds: held})
		}
		list = append(list, out)
	}
	return list
}

// planGangs asks the Planner about gangs and the cards of sites.
func (b *Books) planGangs(ctx context.Context, c *crowd, sites []gangs.Site) (*colloc.Plan, error) {
	var ids []string
	for i := range sites {
		ids = append(ids, sites[i].Cards()...)
	}
	view, err := b.cluster.Ledger.View(ids...)
	if err != nil {
		return nil, fmt.Errorf("books: decide: %w", err)
	}
	tasks := make([]colloc.Task, len(c.gangs))
	for i, g := range c.gangs {
		tasks[i] = c.whole(g.Key)
	}
	plan, err := b.config.Planner.Plan(ctx, tasks, view.GPUs)
	if err != nil {
		return nil, fmt.Errorf("books: decide: %w", err)
	}
	return plan, nil
}

// whole is a gang as one task.
func (c *crowd) whole(key string) colloc.Task {
	t := c.first.Task
	t.ID, t.GPUs = key, c.ask.Pods*c.ask.GPUs
	t.Kind += fmt.Sprintf("|%d pods", c.ask.Pods)
	return t
}

// seatGangs gives each set of gangs that the Planner made a site of the kind that it chose:
// all cards of a kind are the same to it.
func (b *Books) seatGangs(c *crowd, plan *colloc.Plan, sites []gangs.Site, placed map[string]bool, r *Round) {
	byKey := map[string]*band{}
	for _, g := range c.gangs {
		byKey[g.Key] = g
	}
	for i := range plan.Placements {
		p := &plan.Placements[i]
		if len(p.Members) == 0 || placed[p.Members[0].Task] {
			continue // another card of a set that has its site
		}
		kind := string(b.cluster.Cards[p.GPU].Product(nil))
		at := slices.IndexFunc(sites, func(s gangs.Site) bool { return s.Kind == kind })
		if at < 0 {
			continue
		}
		for _, d := range b.reserveGangs(p, byKey, &sites[at]) {
			r.Decisions = append(r.Decisions, d)
			placed[b.cluster.Tasks[d.Pod.UID].Gang.Key] = true
		}
		sites = slices.Delete(sites, at, at+1)
	}
}

// reserveGangs books all pods of a set of gangs in one step, or none. A gang of the set for
// whose pods the nodes have too little else, beside the others, waits.
func (b *Books) reserveGangs(p *colloc.Placement, byKey map[string]*band, site *gangs.Site) []Decision {
	view, err := b.cluster.Ledger.View(site.Cards()...)
	if err != nil {
		return nil
	}
	var decisions []Decision
	var taken []*cluster.Entry
	for k := range p.Members {
		m := &p.Members[k]
		g := byKey[m.Task]
		next, _ := g.next()
		if !b.sit(next, site, m) {
			continue
		}
		taken = append(taken, next...)
		for _, e := range next {
			decisions = append(decisions, Decision{Pod: e.Pod, At: e.At, Left: e.Left, Speed: m.Speed.Value, Company: len(p.Members) - 1, Text: fmt.Sprintf(
				"with %s on %s: speed %.2f, reserves %v of %v on each GPU, shared by %d gangs", g, e.At.GPU(), m.Speed.Value, m.Reserved, p.Usable, len(p.Members))})
		}
	}
	var claims []ledger.Claim
	for _, e := range taken {
		claims = append(claims, b.cluster.Entered(e)...)
	}
	lease, err := b.cluster.Ledger.Reserve(view.Version, claims...)
	if err == nil {
		err = b.cluster.Ledger.Commit(lease) // each pod is given back by itself
	}
	if err != nil {
		b.rise(taken)
		return nil
	}
	for _, e := range taken {
		e.State = cluster.Writing
		b.cluster.DropRoom(e)
	}
	return decisions
}

// sit lists the pods of a gang on the seats of a site, unless one of its nodes has too
// little else for them.
func (b *Books) sit(list []*cluster.Entry, site *gangs.Site, m *colloc.Member) bool {
	for i, e := range list {
		n := b.cluster.Nodes[site.Seats[i].Node]
		if b.cluster.Refuses(n, e) != "" {
			b.rise(list[:i])
			return false
		}
		b.cluster.List(e, b.placement(&site.Seats[i], m))
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

// placement is the decision that gives a pod a seat.
func (b *Books) placement(s *gangs.Seat, m *colloc.Member) api.Placement {
	devices, addresses := make([]string, len(s.Cards)), make([]string, len(s.Cards))
	for i, id := range s.Cards {
		devices[i], addresses[i] = b.cluster.Cards[id].Device, b.cluster.Cards[id].Address
	}
	return api.Placement{Node: s.Node, Device: strings.Join(devices, ","), Address: strings.Join(addresses, ","), Reserved: m.Reserved}
}

// Broken lists the pods that are placed and whose gangs lack others, with the text that
// says so. They keep their cards: whoever made them decides whether they go on.
func (b *Books) Broken() []Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Refusal
	for _, g := range b.bands() {
		next, whole := g.next()
		moves := slices.ContainsFunc(g.placed, func(e *cluster.Entry) bool { return e.State != cluster.Placed }) ||
			whole && slices.ContainsFunc(next, func(e *cluster.Entry) bool { return e.Tried != b.cluster.Changed })
		gone := g.lack()
		for _, e := range g.placed {
			if e.Lost() {
				gone++
			}
		}
		if gone == 0 || moves || len(g.placed) == 0 || b.config.Shadow {
			continue
		}
		for _, e := range g.placed {
			list = append(list, Refusal{e.Pod, GangBroken, fmt.Sprintf(
				"%s has lost %d of them; this one keeps its GPUs, and what its owner makes in their place is placed first", g, gone)})
		}
	}
	slices.SortFunc(list, func(x, y Refusal) int { return cmp.Compare(x.Pod.UID, y.Pod.UID) })
	return list
}
