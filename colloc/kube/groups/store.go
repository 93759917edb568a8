package groups

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"example.com/colloc/colloc/kube/internal/served"
)

// Served returns the PodGroups that an API server serves, in the newest version that it
// and collocd know; false is that it serves none.
func Served(d discovery.DiscoveryInterface) (schema.GroupVersionResource, bool, error) {
	for _, version := range []string{"v1beta1", "v1alpha2"} {
		r := schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: version, Resource: "podgroups"}
		if has, err := served.Has(d, r); has || err != nil {
			return r, has, err
		}
	}
	return schema.GroupVersionResource{}, false, nil
}

// Store has the PodGroups of all namespaces. The zero Store is empty. Safe for concurrent
// use.
type Store struct {
	mu  sync.Mutex
	all map[[2]string]int
}

// Pods is how many pods of a PodGroup have to start at once, 0 where any of them may
// start alone; false is that there is none of that name. It is a pods.Groups.
func (s *Store) Pods(namespace, name string) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.all[[2]string{namespace, name}]
	return n, ok
}

// Set takes in a PodGroup that is new or changed.
func (s *Store) Set(u *unstructured.Unstructured) {
	n, gang, err := unstructured.NestedInt64(u.Object, "spec", "schedulingPolicy", "gang", "minCount")
	if !gang || err != nil {
		n = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[[2]string]int{}
	}
	s.all[[2]string{u.GetNamespace(), u.GetName()}] = int(n)
}

// Drop takes in that a PodGroup is gone.
func (s *Store) Drop(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, [2]string{namespace, name})
}

// Watch fills the Store with a resource of [Served] until ctx is over, and returns once it
// has all there is. changed is called after every change.
func (s *Store) Watch(ctx context.Context, client dynamic.Interface, r schema.GroupVersionResource, changed func(namespace, name string)) error {
	each := func(f func(u *unstructured.Unstructured)) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			f(u)
			changed(u.GetNamespace(), u.GetName())
		}
	}
	if err := served.Watch(ctx, client, r, each(s.Set), each(func(u *unstructured.Unstructured) { s.Drop(u.GetNamespace(), u.GetName()) })); err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	return nil
}
