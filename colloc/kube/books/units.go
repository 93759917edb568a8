package books

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	"example.com/colloc/colloc/kube/pods"
)

// unit is what starts together, one job to the Dispatcher: a pod, or those of a gang that have no place yet.
type unit struct {
	job  string           // its ID
	pods []*cluster.Entry // alike, the oldest first
	gang *band            // nil for a pod

	shape *shape // in the turn that asks about it
	fault error  // with which the Dispatcher did not take it
}

// job is the ID of the job of which a pod is.
func job(e *cluster.Entry) string {
	if e.Gang.Key != "" {
		return e.Gang.Key
	}
	return string(e.Pod.UID)
}

func (u *unit) first() *cluster.Entry { return u.pods[0] }
func (u *unit) priority() int         { return u.first().Task.Priority }

// each is how many GPUs of its node a pod has, width how many all have.
func (u *unit) each() int  { return max(1, u.first().Task.GPUs) }
func (u *unit) width() int { return len(u.pods) * u.each() }

// only is the product on which the other pods of the gang run; empty is any.
func (u *unit) only() string {
	if u.gang != nil {
		for _, e := range u.gang.placed {
			if len(e.Cards) > 0 {
				return e.Cards[0].GPU.Model.Name
			}
		}
	}
	return ""
}

// band is the pods of a gang. Where they differ in how many it has, the oldest says, of those that are placed first.
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
	of := func(e *cluster.Entry) *band {
		if all[e.Gang.Key] == nil {
			all[e.Gang.Key] = &band{}
		}
		return all[e.Gang.Key]
	}
	for _, e := range b.cluster.Tasks {
		switch {
		case e.Gang.Key == "":
		case e.State != cluster.Idle:
			g := of(e)
			g.placed = append(g.placed, e)
		case e.Phase == pods.Waiting && e.Fault == nil:
			g := of(e)
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
		g.Gang = slices.Concat(g.placed, g.waiting)[0].Gang
	}
	return all
}

// gathered returns the gangs that can be decided. Pods of the others are told why they wait.
func (b *Books) gathered(r *Round) []*unit {
	var ready []*unit
	now := b.config.Now()
	all := b.bands()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		g := all[key]
		due := slices.ContainsFunc(g.waiting, func(e *cluster.Entry) bool { return e.Tried != b.cluster.Changed })
		late := slices.ContainsFunc(g.waiting, func(e *cluster.Entry) bool { return now.Before(e.Until) })
		if len(g.waiting) == 0 || late || !due && !b.looksAhead() && !b.promised[key] {
			continue
		}
		next, whole := g.next()
		switch {
		case !whole:
			b.wait(r, next, Gathering, fmt.Sprintf("%s: %d are here, none starts before all are", g, len(g.waiting)+len(g.placed)))
		case !b.alike(next):
			b.wait(r, next, Fault, fmt.Sprintf("%s: its pods differ in what they ask for, in priority or in Profile; make them equal", g))
		default:
			ready = append(ready, &unit{job: g.Key, pods: next, gang: g})
		}
		if g.Open && whole {
			continue // the others come after these
		}
		b.wait(r, g.waiting[len(next):], GangFull, g.String()+" has all its pods without this one")
	}
	return ready
}

// wait tells pods why they wait, and that they were tried. What was said since the last change is not said again.
func (b *Books) wait(r *Round, list []*cluster.Entry, reason, text string) {
	for _, e := range list {
		if e.Tried != b.cluster.Changed {
			e.Tried = b.cluster.Changed
			r.Refusals = append(r.Refusals, Refusal{Pod: e.Pod, Reason: reason, Text: text})
		}
	}
}

// alike reports whether pods ask for the same.
func (b *Books) alike(list []*cluster.Entry) bool {
	return !slices.ContainsFunc(list, func(e *cluster.Entry) bool { return !b.cluster.Alike(e, list[0]) || e.Task.GPUs != list[0].Task.GPUs })
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
