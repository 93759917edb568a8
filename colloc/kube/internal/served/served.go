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

// Watch calls set for each object that is new or changed and drop for each that is gone
// until ctx is over, and returns once all there were have been set.
func Watch(ctx context.Context, client dynamic.Interface, r schema.GroupVersionResource, set, drop func(*unstructured.Unstructured)) error {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	each := func(f func(*unstructured.Unstructured)) func(any) {
		return func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if u, ok := obj.(*unstructured.Unstructured); ok {
				f(u)
			}
		}
	}
	registered, err := factory.ForResource(r).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: each(set), UpdateFunc: func(_, obj any) { each(set)(obj) }, DeleteFunc: each(drop),
	})
	if err != nil {
		return fmt.Errorf("%s: %w", r.Resource, err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return fmt.Errorf("%s: the watch did not fill: %w", r.Resource, context.Cause(ctx))
	}
	return nil
}
