package books

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"example.com/colloc/colloc/kube/nodes"
)

// SetNode takes in a node that is new or changed. The error is that of the books; they
// then have the node without the cards that it names.
func (b *Books) SetNode(n *corev1.Node) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.node(n.Name)
	at.offer = nodes.New(n)
	at.raw = n
	return b.recount(at)
}

// DropNode takes in that a node is gone. What was placed there keeps its place in case
// that the node comes back.
func (b *Books) DropNode(name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.node(name)
	at.offer, at.raw = nil, nil
	err := b.recount(at)
	b.forget(at)
	return err
}

// SetSlice takes in a ResourceSlice that is new or changed.
func (b *Books) SetSlice(s *resourcev1.ResourceSlice) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.Spec.Driver != nodes.Driver || s.Spec.NodeName == nil {
		return nil
	}
	name := *s.Spec.NodeName
	if b.slices[name] == nil {
		b.slices[name] = map[string]*resourcev1.ResourceSlice{}
	}
	b.slices[name][s.Name] = s
	return b.recount(b.node(name))
}

// DropSlice takes in that a ResourceSlice is gone.
func (b *Books) DropSlice(s *resourcev1.ResourceSlice) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.Spec.NodeName == nil {
		return nil
	}
	name := *s.Spec.NodeName
	delete(b.slices[name], s.Name)
	if len(b.slices[name]) == 0 {
		delete(b.slices, name)
	}
	at := b.node(name)
	err := b.recount(at)
	b.forget(at)
	return err
}

// forget drops a node of which nothing is known.
func (b *Books) forget(n *node) {
	if n.offer == nil && len(n.cards) == 0 && len(n.used) == 0 && len(n.foreign) == 0 {
		delete(b.nodes, n.name)
	}
}

// recount reads the cards of a node anew and changes the books where they differ.
func (b *Books) recount(n *node) error {
	var read []nodes.Card
	n.notes = nil
	if n.raw != nil {
		var all []*resourcev1.ResourceSlice
		for _, s := range b.slices[n.name] {
			all = append(all, s)
		}
		read, n.notes = b.reader.Cards(n.raw, all)
	}
	old := map[string]*card{}
	for _, d := range n.cards {
		old[d.GPU.ID] = d
	}
	n.cards = n.cards[:0:0]
	var errs []error
	for _, c := range read {
		d := old[c.GPU.ID]
		delete(old, c.GPU.ID)
		switch {
		case d == nil:
			if other := b.cards[c.GPU.ID]; other != nil {
				errs = append(errs, fmt.Errorf("books: card %q is on two nodes", c.GPU.ID))
				continue
			}
			d = &card{Card: c, node: n}
			errs = append(errs, b.add(d))
		case !reflect.DeepEqual(d.GPU, c.GPU):
			d.Card = c
			if b.ledger != nil {
				errs = append(errs, b.ledger.ChangeGPU(c.GPU))
			}
		default:
			d.Card = c
		}
		n.cards = append(n.cards, d)
		b.classify(d)
	}
	for _, d := range old {
		errs = append(errs, b.remove(d))
	}
	b.order = nil
	b.changed++
	return errors.Join(errs...)
}

// add takes a card into the books, with those who carry a decision for it.
func (b *Books) add(d *card) error {
	b.cards[d.GPU.ID] = d
	b.settle(d)
	if b.ledger == nil {
		return nil
	}
	return b.ledger.AddGPU(b.inhabited(d))
}

// remove takes a card out of the books. Who runs there is not in the books any more, but
// carries its decision.
func (b *Books) remove(d *card) error {
	delete(b.cards, d.GPU.ID)
	for _, e := range d.here {
		e.cards = slices.DeleteFunc(e.cards, func(o *card) bool { return o == d })
	}
	d.here = nil
	if b.ledger == nil {
		return nil
	}
	_, err := b.ledger.RemoveGPU(d.GPU.ID)
	return err
}

// inOrder returns the cards by the names of their nodes and their places there.
func (b *Books) inOrder() []*card {
	if b.order == nil {
		names := make([]string, 0, len(b.nodes))
		for name, n := range b.nodes {
			if len(n.cards) > 0 {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		b.order = make([]*card, 0, len(b.cards))
		for _, name := range names {
			b.order = append(b.order, b.nodes[name].cards...)
		}
	}
	return b.order
}

// maxClasses bounds the table of classes.
const maxClasses = 1 << 16

// classify tells which cards the Planner cannot tell apart: equal products with equal
// company.
func (b *Books) classify(d *card) {
	if len(b.classes) >= maxClasses {
		clear(b.classes)
		for _, other := range b.cards {
			other.class = b.class(other)
		}
	}
	d.class = b.class(d)
}

// product appends what the Planner can tell of an empty card.
func (d *card) product(key []byte) []byte {
	key = append(key, d.GPU.Model.Name...)
	key = append(key, '|')
	key = strconv.AppendInt(key, int64(d.GPU.Total()), 36)
	if d.GPU.Slice != nil {
		key = append(append(key, '|'), d.GPU.Slice.Name...)
	}
	for _, m := range d.GPU.Mechanisms {
		key = strconv.AppendInt(append(key, '|'), int64(m), 10)
	}
	return key
}

func (b *Books) class(d *card) int {
	key := d.product(make([]byte, 0, 256))
	kinds := make([]string, 0, 8)
	for _, e := range d.here {
		kinds = append(kinds, e.task.Kind+"|"+strconv.FormatInt(int64(e.at.Reserved), 36))
	}
	slices.Sort(kinds)
	for _, k := range kinds {
		key = append(append(key, '\n'), k...)
	}
	id, known := b.classes[string(key)]
	if !known {
		id = len(b.classes)
		b.classes[string(key)] = id
	}
	return id
}

// closed says why nobody is placed on a node; empty is open.
func (n *node) closed() string {
	if n.offer == nil {
		return "is gone"
	}
	if why := n.offer.Closed(); why != "" {
		return why
	}
	if len(n.foreign) > 0 {
		return "runs GPU pods of others"
	}
	return ""
}

// sortEntries sorts by the age of the pods, so that the books have one order.
func sortEntries(list []*entry) {
	slices.SortFunc(list, func(a, b *entry) int {
		return cmp.Or(a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), strings.Compare(string(a.pod.UID), string(b.pod.UID)))
	})
}

func without(list []*entry, e *entry) []*entry {
	return slices.DeleteFunc(list, func(o *entry) bool { return o == e })
}
