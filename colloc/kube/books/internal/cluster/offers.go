package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"example.com/colloc/colloc/kube/nodes"
)

// SetNode takes in a node that is new or changed; one that is as before costs next to
// nothing, for each tells of itself every few minutes.
func (cl *Cluster) SetNode(n *corev1.Node) {
	at := cl.node(n.Name)
	if at.raw != nil && nodes.Same(at.raw, n) {
		return
	}
	at.Offer = nodes.New(n)
	at.raw = n
	cl.recount(at)
}

// DropNode takes in that a node is gone. What was placed there keeps its place in case
// that the node comes back.
func (cl *Cluster) DropNode(name string) {
	at := cl.node(name)
	at.Offer, at.raw = nil, nil
	cl.recount(at)
	cl.Forget(at)
}

// SetSlice takes in a ResourceSlice that is new or changed.
func (cl *Cluster) SetSlice(s *resourcev1.ResourceSlice) {
	if s.Spec.Driver != nodes.Driver || s.Spec.NodeName == nil {
		return
	}
	name := *s.Spec.NodeName
	if cl.slices[name] == nil {
		cl.slices[name] = map[string]*resourcev1.ResourceSlice{}
	}
	cl.slices[name][s.Name] = s
	cl.recount(cl.node(name))
}

// DropSlice takes in that a ResourceSlice is gone.
func (cl *Cluster) DropSlice(s *resourcev1.ResourceSlice) {
	if s.Spec.NodeName == nil {
		return
	}
	name := *s.Spec.NodeName
	delete(cl.slices[name], s.Name)
	if len(cl.slices[name]) == 0 {
		delete(cl.slices, name)
	}
	at := cl.node(name)
	cl.recount(at)
	cl.Forget(at)
}

// recount reads the cards of a node anew.
func (cl *Cluster) recount(n *Node) {
	var read []nodes.Card
	if n.raw != nil {
		var all []*resourcev1.ResourceSlice
		for _, s := range cl.slices[n.Name] {
			all = append(all, s)
		}
		read, _ = cl.reader.Cards(n.raw, all)
	}
	old := map[string]*Card{}
	for _, d := range n.Cards {
		old[d.GPU.ID] = d
	}
	n.Cards = n.Cards[:0:0]
	for _, c := range read {
		d := old[c.GPU.ID]
		if delete(old, c.GPU.ID); d == nil {
			d = &Card{Card: c, Node: n}
			cl.Cards[c.GPU.ID] = d
			cl.settle(d)
		}
		d.Card = c
		n.Cards = append(n.Cards, d)
		cl.classify(d)
	}
	for _, d := range old {
		cl.remove(d)
	}
	cl.order = nil
	cl.Company.Changed()
	cl.Changed++
}

// remove takes a card out. Who runs there carries its decision.
func (cl *Cluster) remove(d *Card) {
	delete(cl.Cards, d.GPU.ID)
	for _, e := range d.Here {
		e.Cards = slices.DeleteFunc(e.Cards, func(o *Card) bool { return o == d })
	}
	d.Here = nil
}
