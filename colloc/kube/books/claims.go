package books

import (
	"maps"
	"slices"
	"time"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/pods"
)

// Unclaimed lists the pods that are placed and do not point to their claim yet: it was
// not made, or nobody lived to make it.
func (b *Books) Unclaimed() []Bound {
	if !b.config.Claims {
		return nil
	}
	return b.bound(func(e *cluster.Entry) bool { return claims.Missing(e.Pod, e.At) })
}

// Stuck lists the pods that are placed, that the scheduler has refused for longer than
// Config.Patience, and that can be decided again, as Config.Unpinned says.
func (b *Books) Stuck() []Bound {
	if !b.config.Unpinned {
		return nil
	}
	now := b.config.Now()
	return b.bound(func(e *cluster.Entry) bool { return b.refusedBy(e, now) != nil })
}

// refusedBy is the condition in which the scheduler says why it has refused a pod that is
// placed for longer than Config.Patience: something that the books do not know of is in
// the way. Nil is that it has not. The condition alone does not tell since when: its time
// is that of the gate, and the scheduler may not have looked at it since the pod was
// placed anew.
func (b *Books) refusedBy(e *cluster.Entry, now time.Time) *corev1.PodCondition {
	i := slices.IndexFunc(e.Pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable &&
			now.Sub(e.Since) > b.config.Patience && now.Sub(c.LastTransitionTime.Time) > b.config.Patience
	})
	if i < 0 || e.Pod.Spec.NodeName != "" {
		return nil
	}
	return &e.Pod.Status.Conditions[i]
}

// bound lists the pods that are placed and that a condition holds for.
func (b *Books) bound(holds func(*cluster.Entry) bool) []Bound {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*cluster.Entry
	for _, e := range b.cluster.Tasks {
		if e.State == cluster.Placed && !b.config.Shadow && holds(e) {
			all = append(all, e)
		}
	}
	cluster.Sort(all)
	list := make([]Bound, len(all))
	for i, e := range all {
		list[i] = Bound{e.Pod, e.At}
	}
	return list
}

// Leave takes in that a pod has lost its claim, so that no scheduler can start it where
// it was placed: it waits for another decision. It is kept off that node for
// shunTimes Config.Patience, for something is there of which the books do not know.
func (b *Books) Leave(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.cluster.Tasks[uid]
	if e == nil || e.State != cluster.Placed || e.Pod.Spec.NodeName != "" {
		return
	}
	e.Left = e.At
	if e.Shuns == nil {
		e.Shuns = map[string]time.Time{}
	}
	e.Shuns[e.At.Node] = b.config.Now().Add(shunTimes * b.config.Patience)
	b.cluster.Release(e)
	e.Phase = pods.Waiting
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
	for _, e := range b.cluster.Tasks {
		before := len(e.Shuns)
		maps.DeleteFunc(e.Shuns, func(_ string, until time.Time) bool { return !now.Before(until) })
		if len(e.Shuns) < before && e.State == cluster.Idle {
			b.describe(e)
			e.Tried = 0
		}
	}
}
