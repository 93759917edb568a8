package books

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/gangs"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/packer"
)

// Reasons of a Refusal that gangs have.
const (
	// Gathering: pods of its gang are not there yet, or cannot be used.
	Gathering = "Gathering"
	// GangFull: its gang has all its pods without it.
	GangFull = "GangFull"
	// GangBroken: it is placed, and others of its gang are gone.
	GangBroken = "GangBroken"
)

// band is the pods of a gang.
type band struct {
	pods.Gang
	waiting  []*entry // that may be placed, the oldest first
	placed   []*entry // or about to be
	finished int      // that have run to their end
}

// lack is how many of its pods have no place. Those that have run to their end need none
// while others run on.
func (g *band) lack() int {
	if len(g.placed) == 0 {
		return g.Size
	}
	return max(0, g.Size-len(g.placed)-g.finished)
}

// next are the pods that are to be placed now; false is that some are missing.
func (g *band) next() ([]*entry, bool) {
	n := g.lack()
	if n == 0 && g.Open {
		n = 1
	}
	return g.waiting[:min(n, len(g.waiting))], n > 0 && len(g.waiting) >= n
}

// bands sorts the pods of gangs.
func (b *Books) bands() map[string]*band {
	all := map[string]*band{}
	of := func(g pods.Gang) *band {
		if all[g.Key] == nil {
			all[g.Key] = &band{Gang: g}
		}
		return all[g.Key]
	}
	for _, e := range b.tasks {
		switch {
		case e.gang.Key == "":
		case e.state != idle:
			g := of(e.gang)
			g.placed = append(g.placed, e)
		case e.phase == pods.Waiting && e.fault == nil:
			g := of(e.gang)
			g.waiting = append(g.waiting, e)
		}
	}
	for _, key := range b.finished {
		if g := all[key]; g != nil {
			g.finished++
		}
	}
	for _, g := range all {
		sortEntries(g.waiting)
		sortEntries(g.placed)
	}
	return all
}

// gathered returns the gangs that can be decided: those that have begun first, then those
// of the highest priority, then the oldest. Pods of the others are told why they wait.
func (b *Books) gathered(r *Round) []*band {
	var ready []*band
	now := b.config.Now()
	for _, g := range b.bands() {
		due := slices.ContainsFunc(g.waiting, func(e *entry) bool { return e.tried != b.changed })
		late := slices.ContainsFunc(g.waiting, func(e *entry) bool { return now.Before(e.until) })
		if !due || late {
			continue
		}
		next, whole := g.next()
		switch {
		case !whole:
			b.wait(r, next, Gathering, fmt.Sprintf("%s: %d are here, none starts before all are", g, len(g.waiting)+len(g.placed)))
		case !alike(next):
			b.wait(r, next, Fault, fmt.Sprintf("%s: its pods differ in what they ask for, in priority or in Profile; make them equal", g))
		default:
			ready = append(ready, g)
		}
		if g.Open && whole {
			continue // the others come after these
		}
		b.wait(r, g.waiting[len(next):], GangFull, g.String()+" has all its pods without this one")
	}
	slices.SortFunc(ready, func(x, y *band) int {
		p, q := x.waiting[0], y.waiting[0]
		return cmp.Or(cmp.Compare(min(1, len(y.placed)), min(1, len(x.placed))), cmp.Compare(q.task.Priority, p.task.Priority),
			p.pod.CreationTimestamp.Compare(q.pod.CreationTimestamp.Time), strings.Compare(x.Key, y.Key))
	})
	return ready
}

// wait tells pods why they wait, and that they were tried.
func (b *Books) wait(r *Round, list []*entry, reason, text string) {
	for _, e := range list {
		e.tried = b.changed
		r.Refusals = append(r.Refusals, Refusal{Pod: e.pod, Reason: reason, Text: text})
	}
}

// alike reports whether pods ask for the same.
func alike(list []*entry) bool {
	return !slices.ContainsFunc(list, func(e *entry) bool { return e.like() != list[0].like() || e.task.GPUs != list[0].task.GPUs })
}

// crowd is gangs that ask for the same, of one priority, in order.
type crowd struct {
	gangs []*band
	ask   gangs.Ask
	first *entry // one like all of them
	only  string // the product on which its other pods run; empty is any
}

// crowds puts gangs together that ask for the same. One that has begun stands alone: it
// goes on where it began; and so does one for which room was made.
func (b *Books) crowds(ready []*band) []*crowd {
	type key struct {
		likeness
		ask gangs.Ask
	}
	var list []*crowd
	known := map[key]*crowd{}
	for _, g := range ready {
		next, _ := g.next()
		first := next[0]
		k := key{first.like(), gangs.Ask{Pods: len(next), GPUs: first.task.GPUs}}
		c := known[k]
		switch {
		case len(g.placed) > 0 || len(b.rooms[g.Key]) > 0:
			c = &crowd{ask: k.ask, first: first, only: product(g.placed)}
			list = append(list, c)
		case c == nil:
			c = &crowd{ask: k.ask, first: first}
			known[k] = c
			list = append(list, c)
		}
		c.gangs = append(c.gangs, g)
	}
	return list
}

// key is that of a gang that stands alone.
func (c *crowd) key() string {
	if len(c.gangs) > 1 {
		return ""
	}
	return c.gangs[0].Key
}

// product is that of the cards on which pods run; empty is that no card of theirs is there.
func product(list []*entry) string {
	for _, e := range list {
		if len(e.cards) > 0 {
			return e.cards[0].GPU.Model.Name
		}
	}
	return ""
}

// decideGangs places what it can of a crowd: the Planner says which gangs get a site and
// which share one.
func (b *Books) decideGangs(ctx context.Context, c *crowd, r *Round) error {
	why, shut := map[string]int{}, map[string]int{}
	sites := gangs.Sites(b.empty(c, why, shut), c.ask, len(c.gangs))
	refusal := Refusal{Reason: camel(packer.TooFewGPUs.String()), Text: fmt.Sprintf(
		"no place for %d pods with %d empty GPUs of one product each; %s%s", c.ask.Pods, c.ask.GPUs, nodesText(b, why), shutText(shut))}
	if refusedAll(b, why) {
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
				refusal.Reason, refusal.Text = camel(n.Code.String()), strings.ReplaceAll(n.Text, n.ID, c.first.gang.String())
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
	return b.offered(c, why, shut, func(d *card) ([]int, bool) { return nil, len(d.here) == 0 })
}

// offered returns the nodes that take a gang's pods, with the cards that a condition holds
// for.
func (b *Books) offered(c *crowd, why, shut map[string]int, holds func(*card) ([]int, bool)) []gangs.Node {
	var list []gangs.Node
	for _, name := range slices.Sorted(maps.Keys(b.nodes)) {
		n := b.nodes[name]
		if len(n.cards) == 0 {
			continue
		}
		if no := refusal(n, c.first.shape); no != "" {
			why[no]++
			continue
		}
		out := gangs.Node{Name: name, Pods: n.members(c.first.shape, c.ask.Pods*len(c.gangs))}
		for _, d := range n.cards {
			held, ok := holds(d)
			if !ok || c.only != "" && d.GPU.Model.Name != c.only {
				continue
			}
			if no := b.shut(d); no != "" {
				shut[no]++
				continue
			}
			if b.keptAway(d, c.key(), shut) {
				continue
			}
			out.Cards = append(out.Cards, gangs.Card{ID: d.GPU.ID, Kind: string(d.product(nil)), Holds: held})
		}
		list = append(list, out)
	}
	return list
}

// members is how many pods of a shape a node takes beside what runs there, most at most.
func (n *node) members(s *nodes.Shape, most int) int {
	used := nodes.Amounts{}
	used.Add(n.used, 1)
	for k := range most {
		if n.offer.Refuses(s, used) != "" {
			return k
		}
		used.Add(s.Requests, 1)
	}
	return most
}

// planGangs asks the Planner about gangs and the cards of sites.
func (b *Books) planGangs(ctx context.Context, c *crowd, sites []gangs.Site) (*colloc.Plan, error) {
	var ids []string
	for i := range sites {
		ids = append(ids, sites[i].Cards()...)
	}
	view, err := b.ledger.View(ids...)
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
	t := c.first.task
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
		kind := string(b.cards[p.GPU].product(nil))
		at := slices.IndexFunc(sites, func(s gangs.Site) bool { return s.Kind == kind })
		if at < 0 {
			continue
		}
		for _, d := range b.reserveGangs(p, byKey, &sites[at]) {
			r.Decisions = append(r.Decisions, d)
			placed[b.tasks[d.Pod.UID].gang.Key] = true
		}
		sites = slices.Delete(sites, at, at+1)
	}
}

// reserveGangs books all pods of a set of gangs in one step, or none. A gang of the set for
// whose pods the nodes have too little else, beside the others, waits.
func (b *Books) reserveGangs(p *colloc.Placement, byKey map[string]*band, site *gangs.Site) []Decision {
	view, err := b.ledger.View(site.Cards()...)
	if err != nil {
		return nil
	}
	var decisions []Decision
	var taken []*entry
	for k := range p.Members {
		m := &p.Members[k]
		g := byKey[m.Task]
		next, _ := g.next()
		if !b.sit(next, site, m) {
			continue
		}
		taken = append(taken, next...)
		for _, e := range next {
			decisions = append(decisions, Decision{Pod: e.pod, At: e.at, Left: e.left, Speed: m.Speed.Value, Company: len(p.Members) - 1, Text: fmt.Sprintf(
				"with %s on %s: speed %.2f, reserves %v of %v on each GPU, shared by %d gangs", g, e.at.GPU(), m.Speed.Value, m.Reserved, p.Usable, len(p.Members))})
		}
	}
	var claims []ledger.Claim
	for _, e := range taken {
		claims = append(claims, b.entered(e)...)
	}
	lease, err := b.ledger.Reserve(view.Version, claims...)
	if err == nil {
		err = b.ledger.Commit(lease) // each pod is given back by itself
	}
	if err != nil {
		b.rise(taken)
		return nil
	}
	for _, e := range taken {
		e.state = writing
		b.dropRoom(e)
	}
	return decisions
}

// sit lists the pods of a gang on the seats of a site, unless one of its nodes has too
// little else for them.
func (b *Books) sit(list []*entry, site *gangs.Site, m *colloc.Member) bool {
	for i, e := range list {
		n := b.nodes[site.Seats[i].Node]
		if n.offer.Refuses(e.shape, n.used) != "" {
			b.rise(list[:i])
			return false
		}
		b.list(e, b.placement(&site.Seats[i], m))
	}
	return true
}

// rise is the opposite of sit.
func (b *Books) rise(list []*entry) {
	for _, e := range list {
		b.unlist(e)
		e.at = api.Placement{}
	}
}

// placement is the decision that gives a pod a seat.
func (b *Books) placement(s *gangs.Seat, m *colloc.Member) api.Placement {
	devices, addresses := make([]string, len(s.Cards)), make([]string, len(s.Cards))
	for i, id := range s.Cards {
		devices[i], addresses[i] = b.cards[id].Device, b.cards[id].Address
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
		moves := slices.ContainsFunc(g.placed, func(e *entry) bool { return e.state != placed }) ||
			whole && slices.ContainsFunc(next, func(e *entry) bool { return e.tried != b.changed })
		gone := g.lack()
		for _, e := range g.placed {
			if e.lost() {
				gone++
			}
		}
		if gone == 0 || moves || len(g.placed) == 0 || b.config.Shadow {
			continue
		}
		for _, e := range g.placed {
			list = append(list, Refusal{e.pod, GangBroken, fmt.Sprintf(
				"%s has lost %d of them; this one keeps its GPUs, and what its owner makes in their place is placed first", g, gone)})
		}
	}
	slices.SortFunc(list, func(x, y Refusal) int { return cmp.Compare(x.Pod.UID, y.Pod.UID) })
	return list
}
