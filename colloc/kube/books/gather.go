package books

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	"example.com/colloc/colloc/kube/gangs"
	"example.com/colloc/colloc/kube/pods"
)

// band is the pods of a gang.
type band struct {
	pods.Gang
	waiting  []*cluster.Entry // that may be placed, the oldest first
	placed   []*cluster.Entry // or about to be
	finished int              // that have run to their end
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
func (g *band) next() ([]*cluster.Entry, bool) {
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
	for _, e := range b.cluster.Tasks {
		switch {
		case e.Gang.Key == "":
		case e.State != cluster.Idle:
			g := of(e.Gang)
			g.placed = append(g.placed, e)
		case e.Phase == pods.Waiting && e.Fault == nil:
			g := of(e.Gang)
			g.waiting = append(g.waiting, e)
		}
	}
	for _, f := range b.finished {
		if g := all[f.gang]; g != nil {
			g.finished++
		}
	}
	for _, g := range all {
		cluster.Sort(g.waiting)
		cluster.Sort(g.placed)
	}
	return all
}

// gathered returns the gangs that can be decided: those that have begun first, then those
// of the highest priority, then the oldest. Pods of the others are told why they wait.
func (b *Books) gathered(r *Round, s *shares) []*band {
	var ready []*band
	now := b.config.Now()
	for _, g := range b.bands() {
		due := slices.ContainsFunc(g.waiting, func(e *cluster.Entry) bool { return e.Tried != b.cluster.Changed })
		late := slices.ContainsFunc(g.waiting, func(e *cluster.Entry) bool { return now.Before(e.Until) })
		if !due || late {
			continue
		}
		next, whole := g.next()
		switch {
		case !whole:
			b.wait(r, next, Gathering, fmt.Sprintf("%s: %d are here, none starts before all are", g, len(g.waiting)+len(g.placed)))
		case !b.alike(next):
			b.wait(r, next, Fault, fmt.Sprintf("%s: its pods differ in what they ask for, in priority or in Profile; make them equal", g))
		case !s.take(next[0].Pod.Namespace, len(next)*max(1, next[0].Task.GPUs)):
			r.Refusals = append(r.Refusals, s.refuse(next)...)
			continue
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
		return cmp.Or(cmp.Compare(min(1, len(y.placed)), min(1, len(x.placed))), cmp.Compare(q.Task.Priority, p.Task.Priority),
			cmp.Compare(s.held[p.Pod.Namespace], s.held[q.Pod.Namespace]), p.Pod.CreationTimestamp.Compare(q.Pod.CreationTimestamp.Time), strings.Compare(x.Key, y.Key))
	})
	return ready
}

// wait tells pods why they wait, and that they were tried.
func (b *Books) wait(r *Round, list []*cluster.Entry, reason, text string) {
	for _, e := range list {
		e.Tried = b.cluster.Changed
		r.Refusals = append(r.Refusals, Refusal{Pod: e.Pod, Reason: reason, Text: text})
	}
}

// alike reports whether pods ask for the same.
func (b *Books) alike(list []*cluster.Entry) bool {
	return !slices.ContainsFunc(list, func(e *cluster.Entry) bool { return !b.cluster.Alike(e, list[0]) || e.Task.GPUs != list[0].Task.GPUs })
}

// crowd is gangs that ask for the same, of one priority, in order.
type crowd struct {
	gangs []*band
	ask   gangs.Ask
	first *cluster.Entry // one like all of them
	only  string         // the product on which its other pods run; empty is any
}

// crowds puts gangs together that ask for the same. One that has begun stands alone: it
// goes on where it began; and so does one for which room was made.
func (b *Books) crowds(ready []*band) []*crowd {
	type key struct {
		cluster.Likeness
		ask gangs.Ask
	}
	var list []*crowd
	known := map[key]*crowd{}
	for _, g := range ready {
		next, _ := g.next()
		first := next[0]
		k := key{b.cluster.Like(first), gangs.Ask{Pods: len(next), GPUs: first.Task.GPUs}}
		c := known[k]
		switch {
		case len(g.placed) > 0 || len(b.cluster.Rooms[g.Key]) > 0:
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
func product(list []*cluster.Entry) string {
	for _, e := range list {
		if len(e.Cards) > 0 {
			return e.Cards[0].GPU.Model.Name
		}
	}
	return ""
}
