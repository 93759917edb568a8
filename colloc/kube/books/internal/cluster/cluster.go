package cluster

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/company"
	"example.com/colloc/colloc/kube/nodes"
)

// Cluster is what there is. Make one with [New].
type Cluster struct {
	Bounds Bounds
	Opened bool
	Nodes  map[string]*Node
	Cards  map[string]*Card // by ID
	Tasks  map[types.UID]*Entry
	// Company is the pods on all nodes. Moving are those that wait and that a pod that comes may let be placed.
	Company *company.Index
	Moving  map[types.UID]bool
	// Changed counts what may let a pod that waits be placed.
	Changed uint64
	// Drift counts decisions that pods carry and that were not made here, since it was opened.
	Drift uint64

	volumes func(namespace string, claims []string, node *corev1.Node) string
	claims  bool // only cards that a DRA driver offers to several claims are used
	reader  nodes.Reader
	slices  map[string]map[string]*resourcev1.ResourceSlice // by node, by name
	order   []*Card                                         // by node and place, nil where it has to be made anew
	others  map[types.UID]*other
	carry   map[string]map[types.UID]*Entry      // by card, in the books or not: who carries a decision for it
	held    map[claims.Device]map[types.UID]bool // by claims of others
	holds   map[types.UID][]claims.Device
	classes map[string]int
}

// New returns a cluster without anything, of which by claims only those cards are used
// that a DRA driver offers to several claims. volumes says why the volumes of a pod keep it off a node.
func New(b Bounds, byClaims bool, volumes func(namespace string, claims []string, node *corev1.Node) string) *Cluster {
	cl := &Cluster{
		Bounds: b, claims: byClaims, volumes: volumes, Moving: map[types.UID]bool{}, Changed: 1,
		Nodes: map[string]*Node{}, slices: map[string]map[string]*resourcev1.ResourceSlice{}, Cards: map[string]*Card{},
		Tasks: map[types.UID]*Entry{}, others: map[types.UID]*other{}, carry: map[string]map[types.UID]*Entry{},
		held: map[claims.Device]map[types.UID]bool{}, holds: map[types.UID][]claims.Device{},
		classes: map[string]int{},
	}
	cl.Company = company.New(func(name string) *corev1.Node {
		if n := cl.Nodes[name]; n != nil {
			return n.raw
		}
		return nil
	}, func() []string { return slices.Sorted(maps.Keys(cl.Nodes)) })
	return cl
}

// InOrder returns the cards by the names of their nodes and their places there.
func (cl *Cluster) InOrder() []*Card {
	if cl.order == nil {
		names := make([]string, 0, len(cl.Nodes))
		for name, n := range cl.Nodes {
			if len(n.Cards) > 0 {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		cl.order = make([]*Card, 0, len(cl.Cards))
		for _, name := range names {
			cl.order = append(cl.order, cl.Nodes[name].Cards...)
		}
	}
	return cl.order
}

// maxClasses bounds the table of classes.
const maxClasses = 1 << 16

// classify tells which cards the Planner cannot tell apart: equal products with equal
// company.
func (cl *Cluster) classify(d *Card) {
	if len(cl.classes) >= maxClasses {
		clear(cl.classes)
		for _, other := range cl.Cards {
			other.Class = cl.class(other)
		}
	}
	d.Class = cl.class(d)
}

func (cl *Cluster) class(d *Card) int {
	key := d.Product(make([]byte, 0, 256))
	kinds := make([]string, 0, 8)
	for _, e := range d.Here {
		kinds = append(kinds, e.Task.Kind+"|"+strconv.FormatInt(int64(e.At.Reserved), 36))
	}
	slices.Sort(kinds)
	for _, k := range kinds {
		key = append(append(key, '\n'), k...)
	}
	id, known := cl.classes[string(key)]
	if !known {
		id = len(cl.classes)
		cl.classes[string(key)] = id
	}
	return id
}

// node returns what is known of a node, which may be nothing but what pods there ask for.
func (cl *Cluster) node(name string) *Node {
	n := cl.Nodes[name]
	if n == nil {
		n = &Node{Name: name, Used: nodes.Amounts{}, foreign: map[types.UID]string{}}
		cl.Nodes[name] = n
	}
	return n
}

// Forget drops a node of which nothing is known.
func (cl *Cluster) Forget(n *Node) {
	if n.Offer == nil && len(n.Cards) == 0 && len(n.Used) == 0 && len(n.foreign) == 0 {
		delete(cl.Nodes, n.Name)
	}
}

// Shut says why nobody is placed on a card though its node is open; empty is that it is
// open too.
func (cl *Cluster) Shut(d *Card) string {
	switch {
	case d.Closed != "":
		return d.Closed
	case cl.claims && !d.Counted:
		return "no DRA driver offers it to several claims"
	case len(cl.held[claims.Device{Pool: d.Pool, Name: d.Device}]) > 0:
		return "a ResourceClaim of somebody else holds it"
	}
	return ""
}

// Foreign reports whether somebody else may use a card, and colloc does not know how much
// of it: a pod with GPUs of the device plugin on its node, or, where the scheduler counts
// no claims of ours, a ResourceClaim.
func (cl *Cluster) Foreign(d *Card) bool {
	return len(d.Node.foreign) > 0 || !cl.claims && len(cl.held[claims.Device{Pool: d.Pool, Name: d.Device}]) > 0
}

// Closed says why nobody is placed on a card; empty is open.
func (cl *Cluster) Closed(d *Card) string {
	if why := d.Node.closed(); why != "" {
		return why
	}
	return cl.Shut(d)
}

// NameFor is how a pod is called towards another.
func (cl *Cluster) NameFor(e *Entry, uid types.UID) string {
	other := cl.Tasks[uid]
	switch {
	case other == e:
		return "it"
	case other == nil || other.Pod.Namespace != e.Pod.Namespace:
		return "a pod of another namespace"
	default:
		return "pod " + other.Pod.Name
	}
}

// Offering counts the nodes that have cards.
func (cl *Cluster) Offering() int {
	n := 0
	for _, node := range cl.Nodes {
		if len(node.Cards) > 0 {
			n++
		}
	}
	return n
}

// other is a pod of somebody else.
type other struct {
	on   string
	asks nodes.Amounts
}

// Refuses says why a node does not take a pod; empty is that it does.
func (cl *Cluster) Refuses(n *Node, e *Entry) string {
	if why := n.closed(); why != "" {
		return why
	}
	if why := n.Offer.Refuses(e.Shape, n.Used); why != "" {
		return why
	}
	if why := cl.Company.Refuses(e.Asks, n.Name); why != "" || len(e.Claims) == 0 {
		return why
	}
	return cl.volumes(e.Pod.Namespace, e.Claims, n.raw)
}

// Key is equal for pods to which all nodes say the same.
func (cl *Cluster) Key(e *Entry) string {
	key := e.Shape.Key + cl.Company.Key(e.Asks)
	if len(e.Claims) > 0 {
		key += "|claims " + e.Pod.Namespace + " " + strings.Join(e.Claims, " ")
	}
	return key
}

// Alike reports whether two pods may be of one gang: they ask for the same, but for the claims that they have.
func (cl *Cluster) Alike(x, y *Entry) bool {
	return x.Task.Kind == y.Task.Kind && x.Task.Priority == y.Task.Priority && x.Shape.Key == y.Shape.Key && cl.Company.Key(x.Asks) == cl.Company.Key(y.Asks)
}

// Like is equal for pods of which one can be placed where the other can.
func (cl *Cluster) Like(e *Entry) Likeness { return Likeness{e.Task.Kind, cl.Key(e), e.Task.Priority} }

// Likeness is what the placing of a pod depends on.
type Likeness struct {
	kind, shape string
	priority    int
}
