package cluster

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/company"
	"example.com/colloc/colloc/kube/pods"
)

// Open lets it be decided: whoever wrote a decision is unknown then.
func (cl *Cluster) Open() {
	for _, e := range cl.Tasks {
		if e.State == Writing {
			e.State = Unknown
		}
	}
	cl.Opened = true
	cl.Changed++
}

// settle puts those who carry a decision for a card there. Who wrote one is unknown then.
func (cl *Cluster) settle(d *Card) {
	for _, e := range cl.carry[d.GPU.ID] {
		if e.State == Writing {
			e.State = Unknown
		}
		e.Cards = append(e.Cards, d)
		d.Here = append(d.Here, e)
	}
	Sort(d.Here)
}

// Inhabited is a card with those who are there but for one.
func (cl *Cluster) Inhabited(d *Card, but *Entry) colloc.GPU {
	g := d.GPU
	for _, e := range d.Here {
		if e != but {
			g.Residents = append(g.Residents, cl.Booked(e))
		}
	}
	return g
}

// Booked is the task of an entry as it stands in the books. Nobody joins a gang but those
// that came with it.
func (cl *Cluster) Booked(e *Entry) colloc.Task {
	t := pods.Booked(e.Task, e.At.Reserved)
	if t.GPUs = max(1, len(e.At.GPUs())); e.Gang.Key == "" {
		return t
	}
	own := gangLabel(e.Gang)
	t.Labels, t.Only = append(slices.Clip(t.Labels), own), []string{own}
	for _, id := range e.At.GPUs() {
		for _, o := range cl.carry[id] {
			if label := gangLabel(o.Gang); o.Gang.Key != "" && !slices.Contains(t.Only, label) {
				t.Only = append(t.Only, label)
			}
		}
	}
	slices.Sort(t.Only)
	t.Kind += "|" + strings.Join(t.Only, "|")
	return t
}

func gangLabel(g pods.Gang) string { return "gang:" + g.Key }

// Release takes a pod's task out of the books, wherever its decision stands.
func (cl *Cluster) Release(e *Entry) {
	cl.Unlist(e)
	e.State, e.At = Idle, api.Placement{}
	cl.Changed++
}

// List notes that a pod carries a decision for a card.
func (cl *Cluster) List(e *Entry, at api.Placement) {
	e.At = at
	for _, id := range at.GPUs() {
		if cl.carry[id] == nil {
			cl.carry[id] = map[types.UID]*Entry{}
		}
		cl.carry[id][e.Pod.UID] = e
		if d := cl.Cards[id]; d != nil {
			e.Cards = append(e.Cards, d)
			d.Here = append(d.Here, e)
			Sort(d.Here)
			cl.classify(d)
		}
	}
	cl.Count(e, at.Node)
}

// Unlist is the opposite of list.
func (cl *Cluster) Unlist(e *Entry) {
	for _, id := range e.At.GPUs() {
		delete(cl.carry[id], e.Pod.UID)
		if len(cl.carry[id]) == 0 {
			delete(cl.carry, id)
		}
	}
	for _, d := range e.Cards {
		d.Here = without(d.Here, e)
		cl.classify(d)
	}
	e.Cards = nil
	cl.Count(e, e.Pod.Spec.NodeName)
}

// Count moves what a pod asks for to the node where it counts; empty is nowhere.
func (cl *Cluster) Count(e *Entry, name string) {
	cl.accompany(e.Pod.UID, e.Asks, name)
	if e.On != nil {
		e.On.Used.Add(e.asks, -1)
		e.On = nil
	}
	if name != "" {
		e.On, e.asks = cl.node(name), e.Shape.Requests
		e.On.Used.Add(e.asks, 1)
	}
}

// Meet notes what others meet in a pod that is on a node, if that has changed.
func (cl *Cluster) Meet(e *Entry) {
	if e.On != nil {
		cl.accompany(e.Pod.UID, e.Asks, e.On.Name)
	}
}

// accompany notes on which node others meet a pod; empty is nowhere.
func (cl *Cluster) accompany(uid types.UID, asks *company.Ask, node string) {
	switch {
	case node == "":
		cl.Company.Drop(uid)
	case cl.Company.Set(uid, asks, node) && len(cl.Moving) > 0:
		cl.Changed++
	}
}

func without(list []*Entry, e *Entry) []*Entry {
	return slices.DeleteFunc(list, func(o *Entry) bool { return o == e })
}
