package cluster

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/company"
	"example.com/colloc/colloc/kube/nodes"
)

// SetOther takes in a pod of which colloc knows nothing, new or changed. What one of ours asks of its node
// is counted by its entry; only its GPUs are noted here.
func (cl *Cluster) SetOther(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		cl.DropOther(pod.UID)
		return
	}
	asks := nodes.Requests(pod)
	gpus := asks.GPUs()
	if cl.Tasks[pod.UID] != nil {
		asks = nodes.Amounts{}
	} else {
		cl.accompany(pod.UID, company.Of(pod), pod.Spec.NodeName)
	}
	if o := cl.others[pod.UID]; o != nil {
		if o.on == pod.Spec.NodeName && maps.Equal(o.asks, asks) {
			return
		}
		cl.forget(pod.UID)
	}
	n := cl.node(pod.Spec.NodeName)
	cl.others[pod.UID] = &other{on: n.Name, asks: asks}
	n.Used.Add(asks, 1)
	if gpus > 0 {
		n.foreign[pod.UID] = pod.Namespace + "/" + pod.Name
	}
}

// DropOther takes in that a pod of which colloc knows nothing is gone.
func (cl *Cluster) DropOther(uid types.UID) {
	if cl.Tasks[uid] == nil {
		cl.Company.Drop(uid)
	}
	cl.forget(uid)
}

// forget takes back what a pod asks for.
func (cl *Cluster) forget(uid types.UID) {
	o := cl.others[uid]
	if o == nil {
		return
	}
	delete(cl.others, uid)
	n := cl.node(o.on)
	n.Used.Add(o.asks, -1)
	delete(n.foreign, uid)
	cl.Forget(n)
	cl.Changed++
}

// SetClaim takes in a ResourceClaim, new or changed: nobody is placed on a card that one
// of somebody else holds, for nobody knows what its pods do there.
func (cl *Cluster) SetClaim(c *resourcev1.ResourceClaim) {
	cl.DropClaim(c.UID)
	for _, d := range claims.Held(c) {
		if cl.held[d] == nil {
			cl.held[d] = map[types.UID]bool{}
		}
		cl.held[d][c.UID] = true
		cl.holds[c.UID] = append(cl.holds[c.UID], d)
	}
}

// DropClaim takes in that a ResourceClaim is gone.
func (cl *Cluster) DropClaim(uid types.UID) {
	for _, d := range cl.holds[uid] {
		if delete(cl.held[d], uid); len(cl.held[d]) == 0 {
			delete(cl.held, d)
		}
		cl.Changed++
	}
	delete(cl.holds, uid)
}
