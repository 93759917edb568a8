package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/internal/served"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/pods"
)

// Watch fills the books from the API server until ctx is over, and returns once they
// have all there is. All pods are one watch, so that one that loses its label does not
// leave it; of each only what is needed is kept.
func (c *Controller) Watch(ctx context.Context) error {
	all, b := informers.NewSharedInformerFactoryWithOptions(c.config.Client, 0, informers.WithTransform(trim)), c.config.Books
	synced := []cache.InformerSynced{
		listen(c, all.Core().V1().Pods().Informer(), b.SetPod, c.dropPod),
		listen(c, all.Core().V1().Nodes().Informer(), b.SetNode, func(n *corev1.Node) { b.DropNode(n.Name) }),
	}
	sliced, err := served.Has(c.config.Client.Discovery(), resourcev1.SchemeGroupVersion.WithResource("resourceslices"))
	switch {
	case err != nil:
		return fmt.Errorf("controller: %w", err)
	case sliced:
		synced = append(synced, listen(c, all.Resource().V1().ResourceSlices().Informer(), b.SetSlice, b.DropSlice),
			listen(c, all.Resource().V1().ResourceClaims().Informer(), b.SetClaim, func(claim *resourcev1.ResourceClaim) { b.DropClaim(claim.UID) }))
	case c.config.Claims:
		return errNoClaims
	}
	all.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("controller: the watches did not fill: %w", context.Cause(ctx))
	}
	c.filled.Store(true)
	return nil
}

// trim drops what collocd does not need. Of claims all are watched: a label says not whose one
// is.
func trim(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.Pod:
		return pods.Needed(o), nil
	case *corev1.Node:
		return nodes.Trim(o), nil
	case *resourcev1.ResourceClaim:
		return claims.Trim(o), nil
	}
	return obj, nil
}

// listen calls set for what is new or changed and drop for what is gone, then wakes the
// controller, unless nothing that it reads has changed. It tells when all there was is seen.
func listen[T any](c *Controller, i cache.SharedIndexInformer, set, drop func(T)) cache.InformerSynced {
	synced, err := served.Tell(i, func(before any, now T) {
		if set(now); !unchanged(before, now) {
			c.Wake()
		}
	}, func(was T) {
		drop(was)
		c.Wake()
	})
	if err != nil {
		c.config.Log.Error("watch", "err", err)
		return func() bool { return false }
	}
	return synced
}

// unchanged reports whether two states of a pod or a node, of which the caches hold what
// is read, differ in their version alone.
func unchanged(before, obj any) bool {
	switch now := obj.(type) {
	case *corev1.Node:
		was, ok := before.(*corev1.Node)
		return ok && nodes.Same(was, now)
	case *corev1.Pod:
		was, ok := before.(*corev1.Pod)
		if !ok {
			return false
		}
		as := *was
		as.ResourceVersion = now.ResourceVersion
		return equality.Semantic.DeepEqual(&as, now)
	}
	return false
}

// dropPod takes in that a pod is gone.
func (c *Controller) dropPod(pod *corev1.Pod) {
	c.config.Books.DropPod(pod.UID) // first: see start
	c.forget(pod.UID)
}
