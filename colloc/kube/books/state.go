package books

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/profile"
)

// Card is what the books say of a card.
type Card struct {
	// ID is NODE/DEVICE; Node and Device are its parts.
	ID, Node, Device string
	// Closed says why nothing more is placed there; empty is open.
	Closed string
	// Tasks are the UIDs of the pods there, the oldest first, Reserved what
	// is set aside for all.
	Tasks    []types.UID
	Reserved profile.Bytes
	// Over says in which way more is on the card than it has; empty is that nothing is.
	Over string
}

// Cards lists the cards in order.
func (b *Books) Cards() []Card {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Card
	for _, d := range b.cluster.InOrder() {
		c := Card{ID: d.GPU.ID, Node: d.Node.Name, Device: d.Device, Closed: b.cluster.Closed(d), Over: b.cluster.Over(d)}
		for _, e := range d.Here {
			c.Tasks = append(c.Tasks, e.Pod.UID)
			c.Reserved += e.At.Reserved
		}
		list = append(list, c)
	}
	return list
}

// Unsaid lists the pods that are placed, or whose card is gone or whose node has proved
// too full before they came to run, and whose condition does not say so: it was not
// written, or nobody lived to write it.
func (b *Books) Unsaid() []Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Refusal
	now := b.config.Now()
	for _, e := range b.placed(func(e *cluster.Entry) bool {
		said, reason := pods.Said(e.Pod), b.standing(e, now)
		return said == nil || said.Reason != reason && (reason != Placed || said.Status != corev1.ConditionTrue)
	}) {
		list = append(list, b.toSay(e, now))
	}
	return list
}

// standing is the reason that the condition of a pod that is placed has to give.
func (b *Books) standing(e *cluster.Entry, now time.Time) string {
	switch {
	case e.Pod.Spec.NodeName == "" && e.Lost():
		return CardGone
	case b.refusedBy(e, now) != nil:
		return NodeRefuses
	}
	return Placed
}

// toSay is what the condition of a pod that is placed has to say.
func (b *Books) toSay(e *cluster.Entry, now time.Time) Refusal {
	after := "; a decision cannot be changed: delete the pod and make it anew"
	switch {
	case b.config.Unpinned:
		after = "; it is decided again"
	case metav1.GetControllerOf(e.Pod) != nil:
		after = "; collocd deletes it, and its owner makes another"
	}
	r := Refusal{Pod: e.Pod, Reason: b.standing(e, now)}
	switch r.Reason {
	case CardGone:
		r.Text = "its card " + e.At.GPU() + " is gone" + after
	case NodeRefuses:
		r.Text = fmt.Sprintf("it is held to %s, which the scheduler does not let it have%s; it says: %s", e.At.Node, after, b.refusedBy(e, now).Message)
	default:
		r.Text = fmt.Sprintf("on %s: reserves %v", e.At.GPU(), e.At.Reserved)
	}
	return r
}

// Pending counts the pods that wait for a decision.
func (b *Books) Pending() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.those(func(e *cluster.Entry) bool { return e.State == cluster.Idle && e.Phase == pods.Waiting }))
}

// Tasks lists the pods of ours, in order.
func (b *Books) Tasks() []*corev1.Pod {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]*corev1.Pod, 0, len(b.cluster.Tasks))
	for _, uid := range slices.Sorted(maps.Keys(b.cluster.Tasks)) {
		list = append(list, b.cluster.Tasks[uid].Pod)
	}
	return list
}

// Drift counts the decisions that pods came to carry, since the books were opened, and that these had not made.
func (b *Books) Drift() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cluster.Drift
}

// Plugins counts the nodes with cards on which a device plugin hands out GPUs too: whoever asks it may be given
// a card that pods of ours have.
func (b *Books) Plugins() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, node := range b.cluster.Nodes {
		if len(node.Cards) > 0 && node.Offer != nil && node.Offer.Plugin() {
			n++
		}
	}
	return n
}

// Check counts anew what the pods carry, and says which cards know it otherwise; nil is
// that none does.
func (b *Books) Check() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cluster.Check()
}
