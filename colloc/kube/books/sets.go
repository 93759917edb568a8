package books

import (
	"maps"
	"slices"
	"time"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/profile"
)

// Set is the pods of a card that has any.
type Set struct {
	// ID is NODE/DEVICE, Node the node, Address as in [api.Placement].
	ID, Node, Address string
	// Model is the card's product; of a MIG instance, Slice is true, that of the whole.
	Model profile.GPUModel
	Slice bool
	// Mechanism is how the card is shared; the zero value is by time-slicing.
	Mechanism profile.Mechanism
	// Members are the pods, the oldest first.
	Members []Member
}

// Member is a pod of a Set.
type Member struct {
	// Pod is the pod as it was read last.
	Pod *corev1.Pod
	// Reserved is the memory set aside for it.
	Reserved profile.Bytes
	// Profile is what it was planned with; nil is nothing.
	Profile *profile.Profile
	// Gang says that it runs on other cards too, or with pods that do.
	Gang bool
}

// Sets lists the cards that have pods, in order.
func (b *Books) Sets() []Set {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Set
	for _, d := range b.cluster.InOrder() {
		if len(d.Here) == 0 {
			continue
		}
		s := Set{ID: d.GPU.ID, Node: d.Node.Name, Address: d.Address, Model: d.GPU.Model, Slice: d.GPU.Slice != nil}
		if len(d.GPU.Mechanisms) > 0 {
			s.Mechanism = d.GPU.Mechanisms[0]
		}
		for _, e := range d.Here {
			s.Members = append(s.Members, Member{e.Pod, e.At.Reserved, e.Task.Profile, e.Gang.Key != ""})
		}
		list = append(list, s)
	}
	return list
}

// Loosened lists the pods that are alone because nothing was known of them, and of which
// enough is known by now, with what is to be set aside for them from now on. A claim
// cannot be changed, nor what a process was told at its start that it may take: pods that
// have either stay as they are.
func (b *Books) Loosened() []Bound {
	if b.config.Claims {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Bound
	for _, e := range b.placed(func(e *cluster.Entry) bool {
		return e.At.Limits == (api.Limits{}) && e.Gang.Key == "" && e.Note != "" && e.Fault == nil && e.Misread == nil && e.Demand.Profile != ""
	}) {
		task, note := pods.Task(e.Pod, &e.Demand, b.config.Profile(e.Pod.Namespace, e.Demand.Profile), b.config.Tenancy)
		if note != "" {
			continue
		}
		if _, reserve, err := b.config.Planner.Memory(task); err == nil && reserve > 0 {
			at := e.At
			at.Reserved = min(at.Reserved, reserve)
			list = append(list, Bound{e.Pod, at})
		}
	}
	return list
}

// Loosen takes in that a pod carries another reservation now, no larger than the one that
// it had: it is described anew, and others may join it.
func (b *Books) Loosen(uid types.UID, reserved profile.Bytes) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.cluster.Tasks[uid]
	if e == nil || e.State != cluster.Placed || reserved > e.At.Reserved {
		return
	}
	at := e.At
	at.Reserved = reserved
	b.rebook(e, at)
}

// rebook describes a pod that is placed anew and books it so.
func (b *Books) rebook(e *cluster.Entry, at api.Placement) {
	b.cluster.Unlist(e)
	b.describe(e)
	b.cluster.List(e, at)
	b.cluster.Changed++
}

// Pair is two pods, each named by its owner, whose cards are not shared by them.
type Pair struct {
	// Owners are the controllers that make the pods, or the pods that have none.
	Owners [2]Owner `json:"owners"`
	// Until is when they may share again.
	Until time.Time `json:"until"`
}

// Parted lists the pairs that [Books.Part] keeps apart, in order: what has to be kept if
// that is to outlive the process, and given to [Books.Restore].
func (b *Books) Parted() []Pair {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Pair
	for owners, until := range b.apart {
		if owners[0] <= owners[1] {
			list = append(list, Pair{owners, until})
		}
	}
	slices.SortFunc(list, func(x, y Pair) int { return slices.Compare(x.Owners[:], y.Owners[:]) })
	return list
}

// Restore keeps pairs apart that [Books.Parted] has listed, beside those that are.
func (b *Books) Restore(pairs []Pair) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range pairs {
		b.part(p)
	}
	b.describeParted()
}

// part notes that a pair is kept apart.
func (b *Books) part(p Pair) {
	b.apart[p.Owners] = p.Until
	b.apart[[2]Owner{p.Owners[1], p.Owners[0]}] = p.Until
}

// Part keeps two pods, and those that their owners make in their place, off each other's
// cards until a time. What runs together goes on.
func (b *Books) Part(x, y types.UID, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, other := b.cluster.Tasks[x], b.cluster.Tasks[y]
	if one == nil || other == nil {
		return
	}
	b.part(Pair{[2]Owner{owner(one.Pod), owner(other.Pod)}, until})
	b.describeParted()
}

// describeParted describes the pods anew whose owners are kept apart from others.
func (b *Books) describeParted() {
	parted := func(e *cluster.Entry) bool { return e.Parted || len(b.partners(e.Pod)) > 0 }
	b.anew(parted)
	for _, e := range b.cluster.Tasks {
		if e.State == cluster.Placed && parted(e) {
			b.rebook(e, e.At)
		}
	}
	b.cluster.Changed++
}

// reunite forgets the pairs whose time is over.
func (b *Books) reunite(now time.Time) {
	before := len(b.apart)
	maps.DeleteFunc(b.apart, func(_ [2]Owner, until time.Time) bool { return !now.Before(until) })
	if len(b.apart) < before {
		b.describeParted()
	}
}
