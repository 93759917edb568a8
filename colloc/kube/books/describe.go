package books

import (
	"slices"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/company"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/colloc/kube/volumes"
)

// describe makes the task of a pod.
func (b *Books) describe(e *cluster.Entry) {
	was := e.Task.Kind
	b.idle = 0
	e.Shape, e.Asks, e.Claims = nodes.ShapeOf(e.Pod).Without(b.shunned(e.Pod)), company.Of(e.Pod), volumes.Of(e.Pod)
	if b.config.Shadow { // it has all that already, wherever it runs
		e.Shape.Requests, e.Asks, e.Claims = nil, &company.Ask{}, nil
	}
	if delete(b.cluster.Moving, e.Pod.UID); e.State == cluster.Idle && e.Asks.Moves() {
		b.cluster.Moving[e.Pod.UID] = true
	}
	known := pods.Known{}
	if e.Demand.Profile != "" {
		known = b.config.Profile(e.Pod.Namespace, e.Demand.Profile)
	}
	e.Task, e.Note = pods.Task(e.Pod, &e.Demand, known, b.config.Tenancy)
	err := e.Misread
	if err == nil && e.State == cluster.Idle { // what runs stays in its gang
		e.Gang, err = pods.GangOf(e.Pod, e.Demand, b.config.Groups)
	}
	if err != nil { // nothing of it is known; if it is placed it is alone
		e.Task, _ = pods.Task(e.Pod, &api.Demand{}, pods.Known{}, b.config.Tenancy)
	}
	if err == nil {
		err = b.unfit(e.Pod)
	}
	e.Fault = err
	b.keepApart(e, &e.Task)
	if e.Task.Kind != was {
		e.Tried = 0
	}
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

// keepApart tells the task of a pod with whom it must not share.
func (b *Books) keepApart(e *cluster.Entry, task *colloc.Task) {
	avoid := b.partners(e.Pod)
	if e.Parted = len(avoid) > 0; !e.Parted {
		return
	}
	own := "owner:" + string(owner(e.Pod))
	task.Labels = append(slices.Clip(task.Labels), own)
	task.Avoid = append(slices.Clip(task.Avoid), avoid...)
	task.Kind += "|" + own
}

// partners lists the owners from which a pod's is kept apart.
func (b *Books) partners(pod *corev1.Pod) []string {
	var list []string
	for pair := range b.apart {
		if pair[0] == owner(pod) {
			list = append(list, "owner:"+string(pair[1]))
		}
	}
	slices.Sort(list)
	return list
}

// Owner is who makes pods anew when they go: a controller in a namespace, or nobody but the pod
// itself. A pod may name any controller; that of another namespace is none of its.
type Owner string

func owner(pod *corev1.Pod) Owner {
	uid := pod.UID
	if o := metav1.GetControllerOf(pod); o != nil {
		uid = o.UID
	}
	return Owner(pod.Namespace + "/" + string(uid))
}
