package profiles

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/served"
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
	has, err := served.Has(d, Resource())
	if err != nil {
		return false, fmt.Errorf("profiles: %w", err)
	}
	return has, nil
}

// Watch fills the Store until ctx is over, and returns once it has all there is. changed
// is called after every change.
func (s *Store) Watch(ctx context.Context, client dynamic.Interface, changed func(namespace, name string)) error {
	each := func(f func(u *unstructured.Unstructured)) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			f(u)
			changed(u.GetNamespace(), u.GetName())
		}
	}
	if err := served.Watch(ctx, client, Resource(), each(s.Set), each(func(u *unstructured.Unstructured) { s.Drop(u.GetNamespace(), u.GetName()) })); err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	return nil
}
