package rollout

import (
	"cmp"
	"slices"

	"example.com/colloc/packer/matching"
)

// party is jobs of one width that are to share the same cards.
type party struct {
	jobs  []int32 // in the order of their kinds
	width int
	set   int32
	rank  int     // in the queue, of the first of them
	does  float64 // what it does on a card, by weight
	best  float64 // what one of it does alone, at most
}

// mostParties is how many jobs of one width are matched at once.
const mostParties = 128

// regroup stops all jobs that may stop. Those that come first in the queue begin on empty
// cards, in sets of one width that are matched, as in Muri (Zhao et al., SIGCOMM 2022).
func (e *Engine) regroup() {
	for _, i := range e.runs {
		if e.Jobs[i].Stoppable && !e.Jobs[i].Due {
			e.vacate(i)
		}
	}
	for _, cards := range e.classes {
		var homeless []party
		for _, p := range e.match(cards) {
			if !e.seatParty(&p, e.home(&p)) {
				homeless = append(homeless, p)
			}
		}
		for k := range homeless {
			e.seatParty(&homeless[k], e.quarter(&homeless[k]))
		}
	}
}

// vacant are the empty cards of some.
func (e *Engine) vacant(of []int32) []int32 {
	var out []int32
	for _, g := range of {
		if c := &e.cards[g]; c.n == 0 && !c.down {
			out = append(out, g)
		}
	}
	return out
}

// match returns the parties for the empty cards of one class, wide ones first. They are
// merged until all have room, and as many are left out as still have none.
func (e *Engine) match(cards []int32) []party {
	room := len(e.vacant(cards))
	widths := e.admit(e.cards[cards[0]].class, room)
	need := 0
	for _, ps := range widths {
		need += len(ps) * ps[0].width
	}
	for range e.rule.Most {
		for k, ps := range widths {
			if over := need - room; over > 0 {
				widths[k] = e.pair(ps, (over+ps[0].width-1)/ps[0].width)
				need -= (len(ps) - len(widths[k])) * ps[0].width
			}
		}
	}
	all := slices.Concat(widths...)
	slices.SortFunc(all, func(a, b party) int { return cmp.Compare(a.rank, b.rank) })
	all = slices.DeleteFunc(all, func(p party) bool {
		if p.width > room {
			return true
		}
		room -= p.width
		return false
	})
	slices.SortStableFunc(all, func(a, b party) int { return cmp.Compare(b.width, a.width) })
	return all
}

// admit returns who is matched for a class with room on so many empty cards, each a party
// by width: for each job that has room alone, in the order of the queue, the next Most of its
// width.
func (e *Engine) admit(class int32, room int) [][]party {
	var out [][]party
	at, more := map[int]int{}, map[int]int32{} // by width: where in out, and how many may still come
	purses := slices.Clone(e.purses)
	for rank, i := range e.queue {
		p := e.party([]int32{i}, rank, class)
		if e.lives[i].status != waits || !e.Sets.nodes[p.set].ok || !e.fits(i) || !e.pays(i, purses) {
			continue
		}
		if more[p.width] == 0 && room >= p.width {
			room -= p.width
			more[p.width] = max(1, e.rule.Most)
		}
		if more[p.width] == 0 {
			continue
		}
		more[p.width]--
		k, ok := at[p.width]
		if !ok {
			k = len(out)
			at[p.width], out = k, append(out, nil)
		}
		if len(out[k]) < mostParties {
			e.spend(i, 1, purses)
			out[k] = append(out[k], p)
		}
	}
	return out
}

// pair matches parties of one width where they do most together, and merges at most so many
// pairs.
func (e *Engine) pair(ps []party, most int) []party {
	n := len(ps)
	w := make([]int32, n*n)
	for a := range n {
		for b := range a {
			w[a*n+b] = e.profit(&ps[a], &ps[b])
			w[b*n+a] = w[a*n+b]
		}
	}
	e.out.Looks += n * n
	m, err := matching.Maximum(n, w)
	if err != nil { // not with such weights
		return ps
	}
	var out []party
	for a, b := range m.Mate {
		switch {
		case int(b) > a && most > 0:
			out = append(out, e.merge(&ps[a], &ps[b]))
			most--
		case int(b) > a:
			out = append(out, ps[a], ps[b])
		case b < 0:
			out = append(out, ps[a])
		}
	}
	return out
}

// party is jobs together on cards of a class.
func (e *Engine) party(jobs []int32, rank int, class int32) party {
	p := party{jobs: jobs, width: int(e.Jobs[jobs[0]].Width), set: class, rank: rank}
	slices.SortFunc(jobs, func(a, b int32) int { return cmp.Or(cmp.Compare(e.Jobs[a].Kind, e.Jobs[b].Kind), cmp.Compare(a, b)) })
	for _, i := range jobs {
		p.set = e.Sets.With(p.set, e.Jobs[i].Kind)
	}
	for k, i := range jobs {
		w := e.Jobs[i].weight()
		p.does += float64(float64(e.Sets.nodes[p.set].rates[k]) * w)
		p.best = max(p.best, float64(float64(e.Sets.nodes[e.Sets.With(class, e.Jobs[i].Kind)].total)*w))
	}
	return p
}

// merge is two parties together.
func (e *Engine) merge(a, b *party) party {
	return e.party(slices.Concat(a.jobs, b.jobs), min(a.rank, b.rank), e.Sets.nodes[a.set].class)
}

// profit is how much more two parties do together than one after the other, twice; 0 if they
// must not share.
func (e *Engine) profit(a, b *party) int32 {
	if len(a.jobs)+len(b.jobs) > int(e.rule.Most) {
		return 0
	}
	both, turns := e.merge(a, b), a.does+b.does
	if !e.Sets.nodes[both.set].ok || both.does < float64((1+e.MinGain)*both.best) || 2*both.does < float64((1+e.rule.Least)*turns) {
		return 0
	}
	return int32(min((2*both.does-turns)/e.heaviest, matching.MaxWeight/2))
}

// seatParty starts a party on cards, if there are some.
func (e *Engine) seatParty(p *party, on []int32) bool {
	if on == nil {
		return false
	}
	for _, i := range p.jobs {
		e.start(i, on)
	}
	return true
}

// home returns the cards where one of a party ran, if all are empty; nil if there are none.
func (e *Engine) home(p *party) []int32 {
	for _, cards := range e.where(&e.Jobs[p.jobs[0]]) {
		free := e.vacant(cards)
		for _, i := range p.jobs {
			on := e.Jobs[i].On
			if len(on) > 0 && !slices.ContainsFunc(on, func(g int32) bool { return !slices.Contains(free, g) }) && e.hosts(on, p) {
				return on
			}
		}
	}
	return nil
}

// quarter returns empty cards for a party, where the fewest are; nil if there are none.
func (e *Engine) quarter(p *party) []int32 {
	var best []int32
	for _, cards := range e.where(&e.Jobs[p.jobs[0]]) {
		if free := e.vacant(cards); len(free) >= p.width && (best == nil || len(free) < len(best)) && e.hosts(free[:p.width], p) {
			best = free
		}
	}
	return best[:min(len(best), p.width)]
}

// hosts reports whether empty cards have room for a party, and it is of their class.
func (e *Engine) hosts(cards []int32, p *party) bool {
	need := int64(0)
	for _, i := range p.jobs {
		need += e.Jobs[i].Memory
	}
	return !slices.ContainsFunc(cards, func(g int32) bool {
		c := &e.cards[g]
		return c.class != e.Sets.nodes[p.set].class || c.room < need+e.Cards[g].Less[len(p.jobs)] ||
			slices.ContainsFunc(p.jobs, func(i int32) bool { return e.Jobs[i].Ban.Has(g) })
	})
}
