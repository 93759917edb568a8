package books

import (
	"maps"
	"slices"
	"time"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Bound
	for _, e := range b.placed(func(e *cluster.Entry) bool { return claims.Missing(e.Pod, e.At) }) {
		list = append(list, Bound{e.Pod, e.At})
	}
	return list
}

// Stuck lists the pods that are placed and will not start there, for longer than
// Config.Patience, with the reason and the text that says so: a card of theirs is gone,
// or the scheduler refuses them for something that the books do not know of. They are
// those that can be decided again, as Config.Unpinned says, or else those whose owner
// makes another when they are deleted.
func (b *Books) Stuck() []Stuck {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.config.Now()
	var list []Stuck
	for _, e := range b.placed(func(e *cluster.Entry) bool {
		switch {
		case e.Pod.Spec.NodeName != "":
			return false
		case !e.Lost():
			e.Missed = time.Time{}
		case e.Missed.IsZero():
			e.Missed = now
		}
		late := b.refusedBy(e, now) != nil || e.Lost() && now.Sub(e.Missed) > b.config.Patience
		return late && (b.config.Unpinned || metav1.GetControllerOf(e.Pod) != nil)
	}) {
		r := b.toSay(e, now)
		list = append(list, Stuck{Bound{e.Pod, e.At}, r.Reason, r.Text})
	}
	return list
}

// Stuck is a pod that is placed and will not start there.
type Stuck struct {
	Bound
	// Reason is CardGone or NodeRefuses, Text the sentence for people.
	Reason, Text string
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

// Leave takes in that a pod has lost its claim, so that no scheduler can start it where
// it was placed: it waits for another decision, elsewhere.
func (b *Books) Leave(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.cluster.Tasks[uid]
	if e == nil || e.State != cluster.Placed || e.Pod.Spec.NodeName != "" {
		return
	}
	e.Left = e.At
	b.shun(e)
	b.cluster.Release(e)
	e.Phase = pods.Waiting
	b.describe(e)
}

// Shun takes in that a pod is about to be deleted for it could not start where it was placed: what
// its owner makes in its place goes elsewhere.
func (b *Books) Shun(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.cluster.Tasks[uid]; e != nil && e.State == cluster.Placed {
		b.shun(e)
	}
}

// shunTimes is for how many times Config.Patience the pods of an owner are kept off a
// node on which the scheduler refused one of them.
const shunTimes = 10

// shun keeps the pods of an owner off the node of one of them, for something is there of
// which the books do not know.
func (b *Books) shun(e *cluster.Entry) {
	if e.Lost() {
		return // if the card comes back, so may they
	}
	of := owner(e.Pod)
	if b.shuns[of] == nil {
		b.shuns[of] = map[string]time.Time{}
	}
	b.shuns[of][e.At.Node] = b.config.Now().Add(shunTimes * b.config.Patience)
	b.describeOf(of)
}

// shunned are the nodes that a pod is kept off.
func (b *Books) shunned(pod *corev1.Pod) map[string]string {
	list := map[string]string{}
	for node := range b.shuns[owner(pod)] {
		list[node] = "the scheduler refused it there"
	}
	return list
}

// describeOf describes the pods of an owner anew that wait.
func (b *Books) describeOf(of Owner) {
	b.anew(func(e *cluster.Entry) bool { return owner(e.Pod) == of })
}

// Reopen lets pods back to the nodes from which they were kept off long enough, and to
// each other.
func (b *Books) Reopen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.config.Now()
	b.reunite(now)
	b.expire(now)
	for of, list := range b.shuns {
		before := len(list)
		maps.DeleteFunc(list, func(_ string, until time.Time) bool { return !now.Before(until) })
		if len(list) == 0 {
			delete(b.shuns, of)
		}
		if len(list) < before {
			b.describeOf(of)
		}
	}
}
