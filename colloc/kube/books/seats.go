package books

import (
	"fmt"
	"slices"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
)

// asGang makes the task of a pod that of its gang. Its company are gangs of its namespace that start with it, and nobody else.
func (t *turn) asGang(u *unit, pod *colloc.Task) colloc.Task {
	task := *pod
	task.ID, task.GPUs = u.job, u.width()
	task.Kind += fmt.Sprintf("|%d pods", len(u.pods))
	own := "gangs:" + u.first().Pod.Namespace
	task.Labels, task.Only = append(slices.Clip(task.Labels), own), []string{own}
	return task
}

// seated are the cards of each pod of a unit that has some cards; nil is that a node has a part of a seat.
func (t *turn) seated(u *unit, ids []string) [][]*cluster.Card {
	var list [][]*cluster.Card
	at := map[*cluster.Node]int{} // the last seat there
	for _, id := range slices.Sorted(slices.Values(ids)) {
		d := t.books.cluster.Cards[id]
		i, begun := at[d.Node]
		if !begun || len(list[i]) == u.each() {
			i = len(list)
			at[d.Node] = i
			list = append(list, nil)
		}
		list[i] = append(list[i], d)
	}
	if len(list) != len(u.pods) {
		return nil
	}
	return list
}

// sit lists the pods of a unit where the Dispatcher starts it, unless a node has a part of a seat or too little else
// for them.
func (t *turn) sit(s start) bool {
	b := t.books
	seats := t.seated(s.unit, s.action.GPUs)
	if seats == nil {
		return false
	}
	for i, e := range s.unit.pods {
		node := seats[i][0].Node
		if b.cluster.Refuses(node, e) != "" {
			b.rise(s.unit.pods[:i])
			return false
		}
		at := api.Placement{Node: node.Name, Limits: seats[i][0].Limits, Reserved: b.cluster.Bounds.Usable(seats[i][0])}
		if _, whole, err := b.config.Planner.Memory(e.Task); err == nil && whole < at.Reserved {
			at.Reserved = min(s.action.Reserve, at.Reserved) // else it is the whole card
		}
		for k, d := range seats[i] {
			if k > 0 {
				at.Device, at.Address = at.Device+",", at.Address+","
			}
			at.Device, at.Address = at.Device+d.Device, at.Address+d.Address
		}
		b.cluster.List(e, at)
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

// takes reports whether the cards of units that sit take them, and each other.
func (b *Books) takes(list []start) bool {
	comes := map[*cluster.Entry]bool{}
	for _, s := range list {
		for _, e := range s.unit.pods {
			comes[e] = true
		}
	}
	for e := range comes {
		if slices.ContainsFunc(e.Cards, func(d *cluster.Card) bool { return !b.cluster.Bounds.Takes(d, comes) }) {
			return false
		}
	}
	return true
}

// reserve seats units where the Dispatcher starts them, at once or else each by itself. It returns those whose nodes or
// cards have too little beside the others.
func (t *turn) reserve(starts []start, r *Round) (failed []*unit) {
	b := t.books
	var sitting []start
	for _, s := range starts {
		if t.sit(s) {
			sitting = append(sitting, s)
		} else {
			failed = append(failed, s.unit)
		}
	}
	if len(sitting) == 0 {
		return failed
	}
	if !b.takes(sitting) {
		for _, s := range sitting {
			b.rise(s.unit.pods)
		}
		if len(sitting) == 1 {
			return append(failed, sitting[0].unit)
		}
		for i := range sitting {
			failed = append(failed, t.reserve(sitting[i:i+1], r)...)
		}
		return failed
	}
	for _, s := range sitting {
		for _, e := range s.unit.pods {
			e.State = cluster.Writing
			r.Decisions = append(r.Decisions, t.decision(s, e))
		}
	}
	return failed
}

// decision is that about a pod which has its seat.
func (t *turn) decision(s start, e *cluster.Entry) Decision {
	beside := map[string]bool{}
	for _, d := range e.Cards {
		for _, o := range d.Here {
			beside[job(o)] = true
		}
	}
	id, others := s.action.GPUs[0], len(beside)-1
	company, each := with(t.residents[id]+t.coming[id]-1, "task"), ""
	if s.unit.gang != nil {
		company, each = with(others, "gang"), " on each GPU"
	}
	d := Decision{Pod: e.Pod, At: e.At, Left: e.Left, Speed: s.action.Speed, Company: others, Text: fmt.Sprintf(
		"on %s %s: speed %.2f, reserves %v of %v%s", e.At.GPU(), company, s.action.Speed, e.At.Reserved, t.books.cluster.Bounds.Usable(e.Cards[0]), each)}
	if s.unit.gang != nil {
		d.Text = "with " + s.unit.gang.String() + " " + d.Text
	}
	if e.Note != "" {
		d.Text += "; " + e.Note
	}
	return d
}

// with says with how many others of a sort a card is shared.
func with(others int, what string) string {
	switch others {
	case 0:
		return "alone"
	case 1:
		return "with one other " + what
	}
	return fmt.Sprintf("with %d other %ss", others, what)
}
