package evict_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"example.com/colloc/colloc/kube/evict"
)

// evictor evicts from a server that refuses those that are protected, and notes whom it
// let go.
func evictor(t *testing.T, now *time.Time, protected ...string) (*evict.Evictor, *[]string) {
	t.Helper()
	client, gone := fake.NewClientset(), &[]string{}
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := a.(clienttesting.CreateAction)
		if !ok || a.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		e, ok := create.GetObject().(*policyv1.Eviction)
		if !ok || e.DeleteOptions == nil || e.DeleteOptions.Preconditions == nil || *e.DeleteOptions.Preconditions.UID == "" {
			t.Errorf("it is not said whom: %+v", create.GetObject())
		}
		if slices.Contains(protected, e.Name) {
			return true, nil, apierrors.NewTooManyRequests("budget", 0)
		}
		if len(e.DeleteOptions.DryRun) == 0 {
			*gone = append(*gone, e.Name)
		}
		return true, nil, nil
	})
	e, err := evict.New(evict.Config{Client: client, Most: 3, Pause: time.Minute, Now: func() time.Time { return *now }})
	if err != nil {
		t.Fatal(err)
	}
	return e, gone
}

func list(names ...string) []*corev1.Pod {
	pods := make([]*corev1.Pod, len(names))
	for i, name := range names {
		pods[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "u"}}
	}
	return pods
}

// TestAll: where a budget or the limit protects one pod, none of those that have to go
// together goes.
func TestAll(t *testing.T) {
	now := time.Unix(0, 0)
	e, gone := evictor(t, &now, "b")
	if err := e.All(t.Context(), list("a", "b"), "Preempted", ""); !apierrors.IsTooManyRequests(errors.Unwrap(err)) || len(*gone) > 0 {
		t.Errorf("got %v, and %q went", err, *gone)
	}
	if err := e.All(t.Context(), list("a", "c"), "Preempted", ""); err != nil || len(*gone) != 2 {
		t.Errorf("got %v, and %q went", err, *gone)
	}
	if err := e.All(t.Context(), list("d", "e"), "Preempted", ""); !errors.Is(err, evict.ErrLimit) || len(*gone) != 2 {
		t.Errorf("four within a minute: %v, and %q went", err, *gone)
	}
	now = now.Add(time.Minute)
	if err := e.All(t.Context(), list("d", "e"), "Preempted", ""); err != nil || fmt.Sprint(*gone) != "[a c d e]" {
		t.Errorf("a minute later: %v, and %q went", err, *gone)
	}
}

// TestEvict: one after the other up to the limit; who is protected counts for nothing.
func TestEvict(t *testing.T) {
	now := time.Unix(0, 0)
	e, gone := evictor(t, &now, "p")
	for i, name := range []string{"a", "p", "b", "c", "d"} {
		err := e.Evict(t.Context(), list(name)[0], "TooSlow", "")
		if refused := name == "p" || name == "d"; (err != nil) != refused || errors.Is(err, evict.ErrLimit) != (name == "d") {
			t.Errorf("%d, %s: %v", i, name, err)
		}
	}
	if fmt.Sprint(*gone) != "[a b c]" {
		t.Errorf("%q went", *gone)
	}
}
