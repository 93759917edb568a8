package books

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/pods"
)

// DefaultPatience is the default of Config.Patience.
const DefaultPatience = time.Minute

// SetClaim takes in a ResourceClaim, new or changed: nobody is placed on a card that one
// of somebody else holds, for nobody knows what its pods do there.
func (b *Books) SetClaim(c *resourcev1.ResourceClaim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unhold(c.UID)
	for _, d := range claims.Held(c) {
		if b.held[d] == nil {
			b.held[d] = map[types.UID]bool{}
		}
		b.held[d][c.UID] = true
		b.holds[c.UID] = append(b.holds[c.UID], d)
	}
}

// DropClaim takes in that a ResourceClaim is gone.
func (b *Books) DropClaim(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unhold(uid)
}

func (b *Books) unhold(uid types.UID) {
	for _, d := range b.holds[uid] {
		if delete(b.held[d], uid); len(b.held[d]) == 0 {
			delete(b.held, d)
		}
		b.changed++
	}
	delete(b.holds, uid)
}

// shut says why nobody is placed on a card though its node is open; empty is that it is
// open too.
func (b *Books) shut(d *card) string {
	switch {
	case d.Closed != "":
		return d.Closed
	case b.config.Claims && !d.Counted:
		return "no DRA driver offers it to several claims"
	case len(b.held[claims.Device{Pool: d.Pool, Name: d.Device}]) > 0:
		return "a ResourceClaim of somebody else holds it"
	}
	return ""
}

// closed says why nobody is placed on a card; empty is open.
func (b *Books) closed(d *card) string {
	if why := d.node.closed(); why != "" {
		return why
	}
	return b.shut(d)
}

// shutText counts cards by why they are shut.
func shutText(shut map[string]int) string {
	var out strings.Builder
	for _, why := range slices.Sorted(maps.Keys(shut)) {
		fmt.Fprintf(&out, "; of %d cards: %s", shut[why], why)
	}
	return out.String()
}

// unfit says why a pod cannot be bound in the way that these books bind; nil is that it
// can.
func (b *Books) unfit(pod *corev1.Pod) error {
	if b.config.Shadow {
		return nil
	}
	switch _, asks := claims.Entry(pod); {
	case b.config.Claims && !asks:
		return claims.ErrNoEntry
	case !b.config.Claims && asks:
		return claims.ErrEntry
	}
	return nil
}

// Bound is a pod with its placement.
type Bound struct {
	// Pod is the pod as it was read.
	Pod *corev1.Pod
	// At is where it is placed.
	At api.Placement
}

// Unclaimed lists the pods that are placed and do not point to their claim yet: it was
// not made, or nobody lived to make it.
func (b *Books) Unclaimed() []Bound {
	if !b.config.Claims {
		return nil
	}
	return b.bound(func(e *entry) bool { return claims.Missing(e.pod, e.at) })
}

// Stuck lists the pods that are placed, that the scheduler has refused for longer than
// Config.Patience, and that can be decided again, as Config.Unpinned says.
func (b *Books) Stuck() []Bound {
	if !b.config.Unpinned {
		return nil
	}
	now := b.config.Now()
	return b.bound(func(e *entry) bool { return b.refusedBy(e, now) != nil })
}

// refusedBy is the condition in which the scheduler says why it has refused a pod that is
// placed for longer than Config.Patience: something that the books do not know of is in
// the way. Nil is that it has not. The condition alone does not tell since when: its time
// is that of the gate, and the scheduler may not have looked at it since the pod was
// placed anew.
func (b *Books) refusedBy(e *entry, now time.Time) *corev1.PodCondition {
	i := slices.IndexFunc(e.pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable &&
			now.Sub(e.since) > b.config.Patience && now.Sub(c.LastTransitionTime.Time) > b.config.Patience
	})
	if i < 0 || e.pod.Spec.NodeName != "" {
		return nil
	}
	return &e.pod.Status.Conditions[i]
}

// bound lists the pods that are placed and that a condition holds for.
func (b *Books) bound(holds func(*entry) bool) []Bound {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*entry
	for _, e := range b.tasks {
		if e.state == placed && !b.config.Shadow && holds(e) {
			all = append(all, e)
		}
	}
	sortEntries(all)
	list := make([]Bound, len(all))
	for i, e := range all {
		list[i] = Bound{e.pod, e.at}
	}
	return list
}

// Leave takes in that a pod has lost its claim, so that no scheduler can start it where
// it was placed: it waits for another decision. It is kept off that node for
// shunTimes Config.Patience, for something is there of which the books do not know.
func (b *Books) Leave(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.tasks[uid]
	if e == nil || e.state != placed || e.pod.Spec.NodeName != "" {
		return
	}
	e.left = e.at
	if e.shuns == nil {
		e.shuns = map[string]time.Time{}
	}
	e.shuns[e.at.Node] = b.config.Now().Add(shunTimes * b.config.Patience)
	b.release(e)
	e.phase = pods.Waiting
	b.describe(e)
}

// shunTimes is for how many times Config.Patience a pod is kept off a node on which the
// scheduler refused it.
const shunTimes = 10

// Reopen lets pods back to the nodes from which they were kept off long enough, and to
// each other.
func (b *Books) Reopen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.config.Now()
	b.reunite(now)
	b.expire(now)
	for _, e := range b.tasks {
		before := len(e.shuns)
		maps.DeleteFunc(e.shuns, func(_ string, until time.Time) bool { return !now.Before(until) })
		if len(e.shuns) < before && e.state == idle {
			b.describe(e)
			e.tried = 0
		}
	}
}
