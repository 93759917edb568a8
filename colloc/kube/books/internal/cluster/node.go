package cluster

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/company"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/pods"
)

// Node is a machine.
type Node struct {
	Name    string
	raw     *corev1.Node // nil while only pods or slices tell of it
	Offer   *nodes.Node
	Cards   []*Card
	Used    nodes.Amounts
	foreign map[types.UID]string // pods of others that have GPUs of the device plugin
}

// Card is a GPU.
type Card struct {
	nodes.Card
	Node  *Node
	Here  []*Entry // in the books, the oldest pod first
	Class int
}

// closed says why nobody is placed on a node; empty is open.
func (n *Node) closed() string {
	if n.Offer == nil {
		return "is gone"
	}
	if why := n.Offer.Closed(); why != "" {
		return why
	}
	if len(n.foreign) > 0 {
		return "runs GPU pods of others"
	}
	return ""
}

// Members is how many pods like one a node that takes it takes beside what runs there, most at most.
func (n *Node) Members(e *Entry, most int) int {
	if e.Asks.Single() {
		most = min(most, 1)
	}
	used := nodes.Amounts{}
	used.Add(n.Used, 1)
	for k := range most {
		if n.Offer.Refuses(e.Shape, used) != "" {
			return k
		}
		used.Add(e.Shape.Requests, 1)
	}
	return most
}

// Product appends what the Planner can tell of an empty card.
func (d *Card) Product(key []byte) []byte {
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

// State is what became of a pod's decision.
type State int

// What became of it.
const (
	Idle    State = iota // none is under way: it waits, is held, or is none of ours
	Writing              // reserved, being written
	Unknown              // reserved, and nobody knows whether the write was done
	Placed               // bound
)

// Entry is a pod of ours.
type Entry struct {
	Pod     *corev1.Pod // see SetPod
	Demand  api.Demand  // of its annotations; Misread says why it cannot be read
	Misread error
	Phase   pods.Phase
	State   State
	Task    colloc.Task
	Note    string // why it is alone though it does not ask for it
	Fault   error  // why there is no task
	Shape   *nodes.Shape
	Asks    *company.Ask  // of other pods
	Claims  []string      // of its volumes
	Gang    pods.Gang     // the zero Gang is none
	At      api.Placement // decided or carried
	Cards   []*Card       // those of at that are there; others are not in the books
	Parted  bool          // its task says from whom it is kept apart
	Ended   bool          // while its write is under way
	Tried   uint64        // the change for which it was decided last
	Fails   int           // writes that the API server refused, one after the other
	Until   time.Time     // it is not tried before
	Left    api.Placement // which it carries still and which counts no more
	Since   time.Time     // when it became placed
	Missed  time.Time     // since when a card of it is gone
	Leaving time.Time     // until then it is taken to go, for its eviction was decided
	Spared  time.Time     // until then it is not evicted for others
	On      *Node         // where its requests count
	asks    nodes.Amounts // those that count there
}

// SetPod takes in a pod as it was read.
func (e *Entry) SetPod(pod *corev1.Pod) {
	e.Pod = pod
	e.Demand, e.Misread = api.ReadDemand(pod.Annotations)
}

// Lost reports whether a card of a pod that is placed is gone.
func (e *Entry) Lost() bool { return len(e.Cards) < len(e.At.GPUs()) }

// Leaves reports whether a pod is about to go.
func (e *Entry) Leaves(now time.Time) bool {
	return e.Pod.DeletionTimestamp != nil || now.Before(e.Leaving)
}

// Sort sorts by the age of the pods, so that all lists have one order.
func Sort(list []*Entry) {
	slices.SortFunc(list, func(a, b *Entry) int {
		return cmp.Or(a.Pod.CreationTimestamp.Compare(b.Pod.CreationTimestamp.Time), strings.Compare(string(a.Pod.UID), string(b.Pod.UID)))
	})
}
