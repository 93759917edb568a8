package profiles

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/pods"
)

// Resource is that of Profiles.
func Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: api.ProfileGroup, Version: api.ProfileVersion, Resource: api.ProfileResource}
}

// Store has the Profiles of all namespaces. The zero Store is empty. Safe for concurrent
// use.
type Store struct {
	mu  sync.Mutex
	all map[[2]string]pods.Known
}

// Known returns what a Profile tells; the zero value is that there is none.
func (s *Store) Known(namespace, name string) pods.Known {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[[2]string{namespace, name}]
}

// Set takes in a Profile that is new or changed.
func (s *Store) Set(u *unstructured.Unstructured) {
	known := Decode(u)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[[2]string]pods.Known{}
	}
	s.all[[2]string{u.GetNamespace(), u.GetName()}] = known
}

// Drop takes in that a Profile is gone.
func (s *Store) Drop(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, [2]string{namespace, name})
}

// Served reports whether the API server knows Profiles: whether their definition is
// installed.
func Served(d discovery.DiscoveryInterface) (bool, error) {
	list, err := d.ServerResourcesForGroupVersion(Resource().GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("profiles: whether there are any: %w", err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == api.ProfileResource }), nil
}

// Watch fills the Store until ctx is over, and returns once it has all there is. changed
// is called after every change.
func (s *Store) Watch(ctx context.Context, client dynamic.Interface, changed func(namespace, name string)) error {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(Resource()).Informer()
	each := func(f func(u *unstructured.Unstructured)) func(any) {
		return func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if u, ok := obj.(*unstructured.Unstructured); ok {
				f(u)
				changed(u.GetNamespace(), u.GetName())
			}
		}
	}
	set, drop := each(s.Set), each(func(u *unstructured.Unstructured) { s.Drop(u.GetNamespace(), u.GetName()) })
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: set, UpdateFunc: func(_, obj any) { set(obj) }, DeleteFunc: drop,
	})
	if err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return fmt.Errorf("profiles: the watch did not fill: %w", context.Cause(ctx))
	}
	return nil
}
