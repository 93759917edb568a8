package cluster

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// Bounds are how much of a card is for those who share it.
type Bounds struct {
	Headroom float64       // the part that stays free
	Together profile.Bytes // for each beyond the first, beyond what they reserve
	MaxSet   int           // of them
}

// Usable is what of a card may be set aside.
func (b *Bounds) Usable(d *Card) profile.Bytes { return colloc.Usable(d.GPU.Total(), b.Headroom) }

// reserved is what is set aside for those on a card.
func (d *Card) reserved() (all profile.Bytes) {
	for _, e := range d.Here {
		all += e.At.Reserved
	}
	return all
}

// Takes reports whether those on a card may be there, of whom some come now. It is a second opinion on whoever decided, which
// has seen to all of that.
func (b *Bounds) Takes(d *Card, comes map[*Entry]bool) bool {
	all := d.reserved()
	if all > b.Usable(d) || all+profile.Bytes(len(d.Here)-1)*b.Together > d.GPU.Total() || len(d.Here) > b.MaxSet {
		return false
	}
	for i, e := range d.Here {
		if comes[e] && d.GPU.Lacks(&e.Task) != "" {
			return false
		}
		for _, o := range d.Here[:i] {
			if (comes[e] || comes[o]) && !together(e, o, comes) {
				return false
			}
		}
	}
	return true
}

// together reports whether two may share: a gang with gangs of its namespace that come with it, and with nobody else.
func together(e, o *Entry, comes map[*Entry]bool) bool {
	if e.Gang.Key != "" || o.Gang.Key != "" {
		return e.Gang.Key != "" && o.Gang.Key != "" && comes[e] && comes[o] && e.Pod.Namespace == o.Pod.Namespace
	}
	return !e.Task.Alone && !o.Task.Alone && e.Task.Accepts(&o.Task)
}

// Over says in which way more is on a card than it has, by whatever way it came there; empty is that nothing is.
func (cl *Cluster) Over(d *Card) string {
	switch {
	case len(d.Here) == 0:
		return ""
	case d.reserved() > d.GPU.Total():
		return "memory"
	case len(d.Here) > cl.Bounds.MaxSet:
		return "tasks"
	case cl.Foreign(d):
		return "others"
	}
	return ""
}

// Check counts anew who carries a decision for which card, and says which cards know it otherwise; nil is none.
func (cl *Cluster) Check() []string {
	var wrong []string
	carried := map[string]map[types.UID]bool{}
	for uid, e := range cl.Tasks {
		list := cl.carries(e)
		for _, d := range list {
			if carried[d.GPU.ID] == nil {
				carried[d.GPU.ID] = map[types.UID]bool{}
			}
			carried[d.GPU.ID][uid] = true
		}
		if len(list) != len(e.Cards) || slices.ContainsFunc(list, func(d *Card) bool { return !slices.Contains(e.Cards, d) }) {
			wrong = append(wrong, "pod "+string(uid)+": it has other cards than it carries a decision for")
		}
	}
	for id, d := range cl.Cards {
		for _, e := range d.Here {
			if !carried[id][e.Pod.UID] || cl.Tasks[e.Pod.UID] != e {
				wrong = append(wrong, "card "+id+": it has "+string(e.Pod.UID)+", which carries no decision for it, or has it twice")
			}
			delete(carried[id], e.Pod.UID)
		}
		for uid := range carried[id] {
			wrong = append(wrong, "card "+id+": it does not have "+string(uid))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// carries are the cards that are there of those that a pod carries a decision for.
func (cl *Cluster) carries(e *Entry) (list []*Card) {
	for _, id := range e.At.GPUs() {
		if d := cl.Cards[id]; d != nil && e.State != Idle {
			list = append(list, d)
		}
	}
	return list
}
