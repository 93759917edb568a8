package evict_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"example.com/colloc/colloc/kube/evict"
)

func Example() {
	low := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "low", UID: "1"}}
	next := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "next", UID: "2"}}
	e, err := evict.New(evict.Config{Client: fake.NewClientset(low, next), Most: 1, Now: time.Now})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pod := range []*corev1.Pod{low, next} {
		fmt.Println(e.Evict(context.Background(), pod, "Preempted", "it makes room for gang train"))
	}
	// Output:
	// <nil>
	// evict: too many pods were evicted lately: 1 within 10m0s, and 1 more are wanted where 1 are allowed
}
