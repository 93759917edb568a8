package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/pods"
)

// Watch fills the books from the API server until ctx is over, and returns once they
// have all there is. All pods are one watch, so that one that loses its label does not
// leave it; of each only what is needed is kept.
func (c *Controller) Watch(ctx context.Context) error {
	all := c.factory(func(obj any) (any, error) {
		if pod, ok := obj.(*corev1.Pod); ok {
			return pods.Needed(pod), nil
		}
		return obj, nil
	})
	rest := c.factory(trimNode)
	synced := []cache.InformerSynced{
		c.listen(all.Core().V1().Pods().Informer(), c.podHandler()),
		c.listen(rest.Core().V1().Nodes().Informer(), c.nodeHandler()),
	}
	sliced, err := c.hasSlices()
	if err != nil {
		return fmt.Errorf("controller: whether there are ResourceSlices: %w", err)
	}
	claimed := c.factory(func(obj any) (any, error) { // all: a label says not whose one is
		if claim, ok := obj.(*resourcev1.ResourceClaim); ok {
			return claims.Trim(claim), nil
		}
		return obj, nil
	})
	switch {
	case sliced:
		synced = append(synced, c.listen(rest.Resource().V1().ResourceSlices().Informer(), c.sliceHandler()),
			c.listen(claimed.Resource().V1().ResourceClaims().Informer(), c.claimHandler()))
	case c.config.Claims:
		return errNoClaims
	}
	for _, f := range []informers.SharedInformerFactory{all, rest, claimed} {
		f.Start(ctx.Done())
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("controller: the watches did not fill: %w", context.Cause(ctx))
	}
	c.filled.Store(true)
	return nil
}

// factory makes informers of what is trimmed.
func (c *Controller) factory(trim cache.TransformFunc) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(c.config.Client, 0, informers.WithTransform(trim))
}

// listen tells when an informer and its handler have seen all there was.
func (c *Controller) listen(i cache.SharedIndexInformer, h cache.ResourceEventHandler) cache.InformerSynced {
	registered, err := i.AddEventHandler(h)
	if err != nil {
		c.config.Log.Error("watch", "err", err) // only after the informer was stopped
		return func() bool { return false }
	}
	return registered.HasSynced
}

// trimNode drops of a node what collocd does not need.
func trimNode(obj any) (any, error) {
	if node, ok := obj.(*corev1.Node); ok {
		return nodes.Trim(node), nil
	}
	return obj, nil
}

// hasSlices reports whether the API server has ResourceSlices.
func (c *Controller) hasSlices() (bool, error) {
	list, err := c.config.Client.Discovery().ServerResourcesForGroupVersion(schema.GroupVersion{Group: resourcev1.GroupName, Version: "v1"}.String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == "resourceslices" }), nil
}

// handler calls set for what is new or changed and drop for what is gone, then wakes the
// controller, unless nothing that it reads has changed.
func handler[T any](c *Controller, set, drop func(T)) cache.ResourceEventHandler {
	call := func(f func(T), obj, before any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if x, ok := obj.(T); ok {
			f(x)
			if !unchanged(before, obj) {
				c.Wake()
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { call(set, obj, nil) },
		UpdateFunc: func(before, obj any) { call(set, obj, before) },
		DeleteFunc: func(obj any) { call(drop, obj, nil) },
	}
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

func (c *Controller) podHandler() cache.ResourceEventHandler {
	return handler(c, c.config.Books.SetPod, func(pod *corev1.Pod) {
		c.config.Books.DropPod(pod.UID)
		c.said.Delete(pod.UID)
		c.claimed.Delete(pod.UID)
		c.retries.Delete(pod.UID)
	})
}

func (c *Controller) nodeHandler() cache.ResourceEventHandler {
	return handler(c, c.config.Books.SetNode, func(n *corev1.Node) { c.config.Books.DropNode(n.Name) })
}

func (c *Controller) sliceHandler() cache.ResourceEventHandler {
	return handler(c, c.config.Books.SetSlice, c.config.Books.DropSlice)
}

func (c *Controller) claimHandler() cache.ResourceEventHandler {
	return handler(c, c.config.Books.SetClaim, func(claim *resourcev1.ResourceClaim) { c.config.Books.DropClaim(claim.UID) })
}
