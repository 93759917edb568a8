package books

import (
	"errors"
	"time"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/company"
	"example.com/colloc/colloc/kube/pods"
)

// SetPod takes in a pod that is new or changed. Events may come late, twice, and before
// those of the pod's node: what was written is not undone by a pod that looks as it did
// before. Of a pod of somebody else it counts what it asks of its node; where it has GPUs
// of the device plugin nobody knows which.
func (b *Books) SetPod(pod *corev1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(pod)
}

// Update is SetPod for a pod that was asked for, where no watch told of it. It is nothing for a pod that the books do not
// have: that one may be gone since, which a watch tells only once.
func (b *Books) Update(pod *corev1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cluster.Tasks[pod.UID] != nil {
		b.set(pod)
	}
}

// Has reports whether the books have a pod of ours.
func (b *Books) Has(uid types.UID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cluster.Tasks[uid] != nil
}

func (b *Books) set(pod *corev1.Pod) {
	e := b.cluster.Tasks[pod.UID]
	if !pods.Ours(pod) {
		if e != nil && !older(pod, e.Pod) { // it lost its label before anything was decided
			b.end(pod.UID)
		}
		b.cluster.SetOther(pod)
		return
	}
	phase, at := b.phaseOf(pod, e)
	if phase == pods.Ended {
		b.finish(pod)
		b.end(pod.UID)
		return
	}
	if e == nil {
		e = &cluster.Entry{}
		b.cluster.DropOther(pod.UID) // it may have had no label
		b.cluster.Tasks[pod.UID] = e
	} else if older(pod, e.Pod) {
		return
	}
	b.idle = 0
	e.Ended = false
	e.SetPod(pod)
	if e.State == cluster.Idle {
		e.Phase = phase
		b.describe(e)
	} else if !b.config.Shadow {
		e.Asks = company.Of(pod) // its labels change while it runs
		b.cluster.Meet(e)
	}
	switch phase {
	case pods.Placed:
		b.seen(e, at)
	case pods.Loose:
		if e.State == cluster.Unknown { // somebody took the gate away, and ours was not written
			b.cluster.Release(e)
		}
		e.Phase = phase
		b.cluster.SetOther(pod)
	default:
	}
	if e.State == cluster.Idle {
		b.cluster.Count(e, pod.Spec.NodeName)
	}
}

// phaseOf is that of a pod, which in shadow mode its shadow decides. A placement that the
// pod has left does not count until somebody has bound it there all the same.
func (b *Books) phaseOf(pod *corev1.Pod, e *cluster.Entry) (pods.Phase, api.Placement) {
	phase, at := pods.PhaseOf(pod)
	if phase == pods.Placed && e != nil && at == e.Left && (e.State == cluster.Idle || e.State == cluster.Writing) && pod.Spec.NodeName == "" {
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

// seen takes in that a pod carries a decision.
func (b *Books) seen(e *cluster.Entry, at api.Placement) {
	e.Phase = pods.Placed
	switch {
	case e.State == cluster.Writing:
		return // who writes it will tell
	case e.State == cluster.Unknown && e.At.GPU() == at.GPU():
		e.State, e.Since = cluster.Placed, b.config.Now()
		return
	case e.State == cluster.Placed:
		return // what annotations say later does not move what runs
	case e.State == cluster.Unknown: // somebody else decided
		b.cluster.Release(e)
	}
	if b.cluster.Opened {
		b.cluster.Drift++
	}
	e.State, e.Since = cluster.Placed, b.config.Now()
	b.cluster.List(e, at)
}

// DropPod takes in that a pod is gone.
func (b *Books) DropPod(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(uid)
	b.end(uid)
}

// finished is a pod that has run to its end: since when and for how long, on which card, and for whom.
type finished struct {
	owner Owner
	user  string
	came  time.Time
	since time.Time
	took  time.Duration
	task  colloc.Task
	card  string // empty if it had several, or was of a gang
	gang  string
}

// finish notes that a pod has run to its end: nobody of its gang misses it, and it teaches how long such tasks take.
func (b *Books) finish(pod *corev1.Pod) {
	if _, known := b.finished[pod.UID]; known || pod.Status.Phase != corev1.PodSucceeded {
		return
	}
	f := finished{owner: owner(pod), user: pod.Namespace, came: pod.CreationTimestamp.Time}
	f.since, f.took = pods.Ran(pod)
	e := &cluster.Entry{State: cluster.Placed}
	if e.SetPod(pod); e.Misread == nil {
		if g, err := pods.GangOf(pod, e.Demand, b.config.Groups); err == nil && g.Size > 1 {
			f.gang = g.Key
		}
	}
	at, placed, err := api.ReadPlacement(pod.Annotations)
	if err == nil && placed && len(at.GPUs()) == 1 && f.gang == "" {
		b.describe(e)
		f.task, f.card = e.Task, at.GPU()
		f.task.Reserved = at.Reserved
	}
	b.finished[pod.UID] = f
	b.teach(f.owner, f.took, 1)
}

// forget takes back what a pod has taught.
func (b *Books) forget(uid types.UID) {
	f := b.finished[uid]
	delete(b.finished, uid)
	b.teach(f.owner, -f.took, -1)
}

// lengths are how long pods of one owner took that have done their work and are still there.
type lengths struct {
	sum  time.Duration
	pods int
}

func (b *Books) teach(of Owner, took time.Duration, n int) {
	l := b.lengths[of]
	if l.sum, l.pods = l.sum+took, l.pods+n; took == 0 {
		return
	}
	if b.lengths[of] = l; l.pods <= 0 {
		delete(b.lengths, of)
	}
}

// end takes in that a pod runs no more.
func (b *Books) end(uid types.UID) {
	b.cluster.DropOther(uid)
	e := b.cluster.Tasks[uid]
	if e == nil {
		return
	}
	b.idle = 0
	switch {
	case e.State == cluster.Writing:
		e.Ended = true // the write under way is heard first
		return
	case e.State != cluster.Idle:
		b.cluster.Release(e)
	}
	on := e.On
	b.cluster.Count(e, "")
	if on != nil {
		b.cluster.Forget(on)
	}
	if on != nil || e.Gang.Key != "" {
		b.cluster.Changed++
	}
	delete(b.cluster.Tasks, uid)
	delete(b.cluster.Moving, uid)
}

// Reconsider takes in that volumes or their claims came or changed: who waits may be placed now.
func (b *Books) Reconsider() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cluster.Changed++
}

// Refresh takes in that a Profile is new or changed: pods that wait are described anew.
func (b *Books) Refresh(namespace, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.anew(func(e *cluster.Entry) bool {
		return e.Pod.Namespace == namespace && e.Pod.Annotations[api.AnnotationProfile] == name
	})
}

// Regroup takes in that a PodGroup is new, changed or gone: its pods that wait are
// described anew.
func (b *Books) Regroup(namespace, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.anew(func(e *cluster.Entry) bool {
		g := e.Pod.Spec.SchedulingGroup
		return e.Pod.Namespace == namespace && g != nil && g.PodGroupName != nil && *g.PodGroupName == name
	})
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
	e := b.cluster.Tasks[uid]
	if e == nil || e.State != cluster.Writing && e.State != cluster.Unknown {
		return ErrNotWriting
	}
	b.idle = 0
	if pod != nil && pod.UID == uid {
		e.SetPod(pod)
	}
	switch o {
	case Written:
		e.State, e.Phase, e.Fails, e.Left, e.Since = cluster.Placed, pods.Placed, 0, api.Placement{}, b.config.Now()
	case Unclear:
		e.State = cluster.Unknown
	default:
		b.cluster.Release(e)
		e.Phase, _ = b.phaseOf(e.Pod, e)
		if pod == nil {
			e.Fails++
			e.Until = b.config.Now().Add(min(time.Second<<min(e.Fails-1, 8), time.Minute))
		}
	}
	if e.Ended {
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
	var list []*corev1.Pod
	for _, e := range b.those(func(e *cluster.Entry) bool { return e.State == cluster.Unknown }) {
		list = append(list, e.Pod)
	}
	return list
}
