package groups_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	discovery "k8s.io/client-go/discovery/fake"
	dynamic "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"example.com/colloc/colloc/kube/groups"
)

// group is a PodGroup with a policy.
func group(name string, policy map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": map[string]any{"namespace": "team", "name": name},
		"spec": map[string]any{"schedulingPolicy": policy},
	}}
}

func TestServed(t *testing.T) {
	for _, tt := range []struct {
		versions []string
		want     string
	}{{nil, ""}, {[]string{"v1alpha1"}, ""}, {[]string{"v1alpha2"}, "v1alpha2"}, {[]string{"v1alpha2", "v1beta1"}, "v1beta1"}} {
		d := &discovery.FakeDiscovery{Fake: &clienttesting.Fake{}}
		for _, v := range tt.versions {
			d.Resources = append(d.Resources, &metav1.APIResourceList{GroupVersion: "scheduling.k8s.io/" + v, APIResources: []metav1.APIResource{{Name: "podgroups"}}})
		}
		if r, ok, err := groups.Served(d); r.Version != tt.want || ok != (tt.want != "") || err != nil {
			t.Errorf("of %q: got %v, %v, %v, want %q", tt.versions, r, ok, err, tt.want)
		}
	}
}

func TestStore(t *testing.T) {
	r := schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1alpha2", Resource: "podgroups"}
	client := dynamic.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{r: "PodGroupList"},
		group("four", map[string]any{"gang": map[string]any{"minCount": int64(4)}}), group("free", map[string]any{"basic": map[string]any{}}))
	var s groups.Store
	told := make(chan string, 8)
	if err := s.Watch(t.Context(), client, r, func(_, name string) { told <- name }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"four": "4 true", "free": "0 true", "none": "0 false"} {
		n, ok := s.Pods("team", name)
		if got := fmt.Sprint(n, ok); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	<-told
	<-told
	if err := client.Resource(r).Namespace("team").Delete(t.Context(), "four", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	<-told
	if _, ok := s.Pods("team", "four"); ok {
		t.Error("one that is gone is known")
	}
}
