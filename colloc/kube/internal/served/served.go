package served

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Has reports whether the API server has a resource.
func Has(d discovery.DiscoveryInterface, r schema.GroupVersionResource) (bool, error) {
	list, err := d.ServerResourcesForGroupVersion(r.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("whether there are %s: %w", r.Resource, err)
	}
	return slices.ContainsFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Name == r.Resource }), nil
}

// Tell calls set for each object of an informer that is new or changed, with what it was
// before, nil if it is new, and drop for each that is gone. Synced says when it has done so for
// all there were.
func Tell[T any](i cache.SharedIndexInformer, set func(before any, now T), drop func(T)) (synced cache.InformerSynced, err error) {
	tell := func(before, obj any) {
		if now, ok := obj.(T); ok {
			set(before, now)
		}
	}
	registered, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { tell(nil, obj) }, UpdateFunc: tell,
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if was, ok := obj.(T); ok {
				drop(was)
			}
		},
	})
	if err != nil {
		return nil, err // only after the informer was stopped
	}
	return registered.HasSynced, nil
}

// Watch calls set for each object that is new or changed and drop for each that is gone
// until ctx is over, and returns once all there were have been set.
func Watch(ctx context.Context, client dynamic.Interface, r schema.GroupVersionResource, set, drop func(*unstructured.Unstructured)) error {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	synced, err := Tell(factory.ForResource(r).Informer(), func(_ any, now *unstructured.Unstructured) { set(now) }, drop)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Resource, err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced) {
		return fmt.Errorf("%s: the watch did not fill: %w", r.Resource, context.Cause(ctx))
	}
	return nil
}
