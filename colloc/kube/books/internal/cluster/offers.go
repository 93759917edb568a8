package cluster

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"example.com/colloc/colloc/kube/nodes"
)

// SetNode takes in a node that is new or changed; one that is as before costs next to
// nothing, for each tells of itself every few minutes. The error is that of the books;
// they then have the node without the cards that it names.
func (cl *Cluster) SetNode(n *corev1.Node) error {
	at := cl.node(n.Name)
	if at.raw != nil && nodes.Same(at.raw, n) {
		return nil
	}
	at.Offer = nodes.New(n)
	at.raw = n
	return cl.recount(at)
}

// DropNode takes in that a node is gone. What was placed there keeps its place in case
// that the node comes back.
func (cl *Cluster) DropNode(name string) error {
	at := cl.node(name)
	at.Offer, at.raw = nil, nil
	err := cl.recount(at)
	cl.Forget(at)
	return err
}

// SetSlice takes in a ResourceSlice that is new or changed.
func (cl *Cluster) SetSlice(s *resourcev1.ResourceSlice) error {
	if s.Spec.Driver != nodes.Driver || s.Spec.NodeName == nil {
		return nil
	}
	name := *s.Spec.NodeName
	if cl.slices[name] == nil {
		cl.slices[name] = map[string]*resourcev1.ResourceSlice{}
	}
	cl.slices[name][s.Name] = s
	return cl.recount(cl.node(name))
}

// DropSlice takes in that a ResourceSlice is gone.
func (cl *Cluster) DropSlice(s *resourcev1.ResourceSlice) error {
	if s.Spec.NodeName == nil {
		return nil
	}
	name := *s.Spec.NodeName
	delete(cl.slices[name], s.Name)
	if len(cl.slices[name]) == 0 {
		delete(cl.slices, name)
	}
	at := cl.node(name)
	err := cl.recount(at)
	cl.Forget(at)
	return err
}

// recount reads the cards of a node anew and changes the books where they differ.
func (cl *Cluster) recount(n *Node) error {
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
	var errs []error
	for _, c := range read {
		d := old[c.GPU.ID]
		delete(old, c.GPU.ID)
		switch {
		case d == nil:
			if other := cl.Cards[c.GPU.ID]; other != nil {
				errs = append(errs, fmt.Errorf("books: card %q is on two nodes", c.GPU.ID))
				continue
			}
			d = &Card{Card: c, Node: n}
			errs = append(errs, cl.add(d))
		case !reflect.DeepEqual(d.GPU, c.GPU):
			d.Card = c
			if cl.Ledger != nil {
				errs = append(errs, cl.Ledger.ChangeGPU(c.GPU))
			}
		default:
			d.Card = c
		}
		n.Cards = append(n.Cards, d)
		cl.classify(d)
	}
	for _, d := range old {
		errs = append(errs, cl.remove(d))
	}
	cl.order = nil
	cl.Company.Changed()
	cl.Changed++
	return errors.Join(errs...)
}

// add takes a card into the books, with those who carry a decision for it.
func (cl *Cluster) add(d *Card) error {
	cl.Cards[d.GPU.ID] = d
	cl.settle(d)
	if cl.Ledger == nil {
		return nil
	}
	return cl.Ledger.AddGPU(cl.inhabited(d))
}

// remove takes a card out of the books. Who runs there is not in the books any more, but
// carries its decision.
func (cl *Cluster) remove(d *Card) error {
	delete(cl.Cards, d.GPU.ID)
	for _, e := range d.Here {
		e.Cards = slices.DeleteFunc(e.Cards, func(o *Card) bool { return o == d })
	}
	d.Here = nil
	if cl.Ledger == nil {
		return nil
	}
	_, err := cl.Ledger.RemoveGPU(d.GPU.ID)
	return err
}
