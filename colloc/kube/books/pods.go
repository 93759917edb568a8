package books

import (
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/pods"
)

// SetPod takes in a pod of ours that is new or changed. Events may come late, twice, and
// before those of the pod's node: what was written is not undone by a pod that looks as
// it did before.
func (b *Books) SetPod(pod *corev1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.tasks[pod.UID]
	phase, at := b.phaseOf(pod, e)
	if phase == pods.Ended {
		b.finish(pod)
		b.end(pod.UID)
		return
	}
	if e == nil {
		e = &entry{}
		b.tasks[pod.UID] = e
	} else if older(pod, e.pod) {
		return
	}
	e.pod = pod
	if e.state == idle {
		e.phase = phase
		b.describe(e)
	}
	switch phase {
	case pods.Placed:
		b.seen(e, at)
	case pods.Loose:
		if e.state == unknown { // somebody took the gate away, and ours was not written
			b.release(e)
		}
		e.phase = phase
		b.stranger(pod)
	default:
	}
	if e.state == idle {
		b.count(e, pod.Spec.NodeName)
	}
}

// phaseOf is that of a pod, which in shadow mode its shadow decides. A placement that the
// pod has left does not count until somebody has bound it there all the same.
func (b *Books) phaseOf(pod *corev1.Pod, e *entry) (pods.Phase, api.Placement) {
	phase, at := pods.PhaseOf(pod)
	if phase == pods.Placed && e != nil && at == e.left && (e.state == idle || e.state == writing) && pod.Spec.NodeName == "" {
		return pods.Waiting, api.Placement{}
	}
	if !b.config.Shadow || phase == pods.Ended {
		return phase, at
	}
	if at, ok := pods.Shadow(pod); ok {
		return pods.Placed, at
	}
	return pods.Waiting, api.Placement{}
}

// older reports whether a pod was read before another; what cannot be told is not.
func older(a, b *corev1.Pod) bool {
	x, y := a.ResourceVersion, b.ResourceVersion
	return len(x) < len(y) || len(x) == len(y) && x < y
}

// describe makes the task of a pod.
func (b *Books) describe(e *entry) {
	was := e.task.Kind
	if e.shape = nodes.ShapeOf(e.pod).Without(slices.Collect(maps.Keys(e.shuns))...); b.config.Shadow {
		e.shape.Requests = nil // it has them already, wherever it runs
	}
	d, err := api.ReadDemand(e.pod.Annotations)
	if err == nil {
		known := pods.Known{}
		if d.Profile != "" {
			known = b.config.Profile(e.pod.Namespace, d.Profile)
		}
		e.task, e.note, err = pods.Task(e.pod, known, b.config.Tenancy)
	}
	if err == nil && e.state == idle { // what runs stays in its gang
		e.gang, err = pods.GangOf(e.pod, d, b.config.Groups)
	}
	if err != nil { // nothing of it is known; if it is placed it is alone
		bare := e.pod.DeepCopy()
		bare.Annotations = nil
		e.task, _, _ = pods.Task(bare, pods.Known{}, b.config.Tenancy)
	}
	if err == nil {
		err = b.unfit(e.pod)
	}
	e.fault = err
	b.keepApart(e, &e.task)
	if e.task.Kind != was {
		e.tried = 0
	}
}

// seen takes in that a pod carries a decision.
func (b *Books) seen(e *entry, at api.Placement) {
	e.phase = pods.Placed
	switch {
	case e.state == writing:
		return // who writes it will tell
	case e.state == unknown && e.at.GPU() == at.GPU():
		e.state, e.since = placed, b.config.Now()
		return
	case e.state == placed:
		return // what annotations say later does not move what runs
	case e.state == unknown: // somebody else decided
		b.release(e)
	}
	e.state, e.since = placed, b.config.Now()
	b.list(e, at)
	if len(e.cards) == 0 || b.ledger == nil {
		return
	}
	if err := b.ledger.Book(b.entered(e)...); err != nil {
		b.drift++
	}
}

// DropPod takes in that a pod of ours is gone.
func (b *Books) DropPod(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.finished, uid)
	b.end(uid)
}

// finish notes that a pod of a gang has run to its end, so that nobody misses it.
func (b *Books) finish(pod *corev1.Pod) {
	if pod.Status.Phase != corev1.PodSucceeded {
		return
	}
	if d, err := api.ReadDemand(pod.Annotations); err == nil {
		if g, err := pods.GangOf(pod, d, b.config.Groups); err == nil && g.Size > 1 {
			b.finished[pod.UID] = g.Key
		}
	}
}

// end takes in that a pod runs no more.
func (b *Books) end(uid types.UID) {
	b.leave(uid)
	e := b.tasks[uid]
	switch {
	case e == nil:
		return
	case e.state == writing:
		e.ended = true // the write under way is heard first
		return
	case e.state != idle:
		b.release(e)
	}
	b.dropRoom(e)
	on := e.on
	b.count(e, "")
	if on != nil {
		b.forget(on)
	}
	if on != nil || e.gang.Key != "" {
		b.changed++
	}
	delete(b.tasks, uid)
}

// SetOther takes in a pod of somebody else, new or changed: what it asks of its node is
// not there for others, and where it has GPUs of the device plugin nobody knows which.
func (b *Books) SetOther(pod *corev1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stranger(pod)
}

// DropOther takes in that a pod of somebody else is gone.
func (b *Books) DropOther(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leave(uid)
}

// stranger notes a pod of which colloc knows nothing. What one of ours asks of its node
// is counted by its entry; only its GPUs are noted here.
func (b *Books) stranger(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		b.leave(pod.UID)
		return
	}
	asks := nodes.Requests(pod)
	gpus := asks.GPUs()
	if b.tasks[pod.UID] != nil {
		asks = nodes.Amounts{}
	}
	if o := b.others[pod.UID]; o != nil {
		if o.on == pod.Spec.NodeName && maps.Equal(o.asks, asks) {
			return
		}
		b.leave(pod.UID)
	}
	n := b.node(pod.Spec.NodeName)
	b.others[pod.UID] = &other{on: n.name, asks: asks}
	n.used.Add(asks, 1)
	if gpus > 0 {
		n.foreign[pod.UID] = pod.Namespace + "/" + pod.Name
	}
}

// leave is the opposite of stranger.
func (b *Books) leave(uid types.UID) {
	o := b.others[uid]
	if o == nil {
		return
	}
	delete(b.others, uid)
	n := b.node(o.on)
	n.used.Add(o.asks, -1)
	delete(n.foreign, uid)
	b.forget(n)
	b.changed++
}

// Refresh takes in that a Profile is new or changed: pods that wait are described anew.
func (b *Books) Refresh(namespace, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.tasks {
		if e.state == idle && e.pod.Namespace == namespace && e.pod.Annotations[api.AnnotationProfile] == name {
			b.describe(e)
		}
	}
}

// Regroup takes in that a PodGroup is new, changed or gone: its pods that wait are
// described anew.
func (b *Books) Regroup(namespace, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.tasks {
		if g := e.pod.Spec.SchedulingGroup; e.state == idle && e.pod.Namespace == namespace && g != nil && g.PodGroupName != nil && *g.PodGroupName == name {
			b.describe(e)
			e.tried = 0
		}
	}
}

// Outcome is what became of a write.
type Outcome int

// The outcomes.
const (
	// Written: the API server took it.
	Written Outcome = iota
	// Refused: it did not, and will not. Without the pod as it is now, that one is not
	// tried again for a while, from a second to a minute.
	Refused
	// Unclear: nobody knows. The card is held until [Books.SetPod], [Books.DropPod] or
	// another Finish tells.
	Unclear
)

// Finish takes in what became of a decision. pod is the pod as it was read after the
// write, nil if it was not read. ErrNotWriting means that no write of it is under way.
func (b *Books) Finish(uid types.UID, o Outcome, pod *corev1.Pod) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.tasks[uid]
	if e == nil || e.state != writing && e.state != unknown {
		return ErrNotWriting
	}
	if pod != nil && pod.UID == uid {
		e.pod = pod
	}
	if e.state == writing && o != Refused && e.gang.Key == "" {
		if err := b.ledger.Commit(e.lease); err != nil && len(e.cards) > 0 {
			b.drift++
		}
	}
	switch o {
	case Written:
		e.state, e.phase, e.fails, e.left, e.since = placed, pods.Placed, 0, api.Placement{}, b.config.Now()
	case Unclear:
		e.state = unknown
	default:
		b.release(e)
		e.phase, _ = b.phaseOf(e.pod, e)
		if pod == nil {
			e.fails++
			e.until = b.config.Now().Add(min(time.Second<<min(e.fails-1, 8), time.Minute))
		}
	}
	if e.ended {
		if e.state == writing {
			e.state = unknown
		}
		b.end(uid)
	}
	return nil
}

// ErrNotWriting means that no write of a pod is under way.
var ErrNotWriting = errors.New("books: no write of the pod is under way")

// Unclear lists the pods of which nobody knows whether they were written.
func (b *Books) Unclear() []*corev1.Pod {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*entry
	for _, e := range b.tasks {
		if e.state == unknown {
			all = append(all, e)
		}
	}
	sortEntries(all)
	list := make([]*corev1.Pod, len(all))
	for i, e := range all {
		list[i] = e.pod
	}
	return list
}
