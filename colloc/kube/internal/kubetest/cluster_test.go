//go:build kube

package kubetest_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/colloc/colloc/kube/internal/kubetest"
)

// plain returns a pod that asks for a whole GPU in the ordinary way.
func plain(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "train", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
		}}}},
	}
}

// The stock scheduler places what fits, the kubelet runs it, and lets it go.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{})
	c.AddNodes(kubetest.Nodes(2, "gpu", kubetest.Node{Product: "NVIDIA-A100-SXM4-40GB", MiB: 40960, GPUs: 8})...)
	k := c.RunKubelet(nil)
	pods := c.Client.CoreV1().Pods("default")
	c.Many(20, func(ctx context.Context, i int) error {
		_, err := pods.Create(ctx, plain(fmt.Sprintf("p-%d", i)), metav1.CreateOptions{})
		return err
	})
	c.Await("16 of 20 pods run on 16 GPUs", func() bool { return k.Running("default") == 16 })
	if err := pods.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Await("all pods are gone", func() bool { return k.Running("default") == 0 })
	for _, name := range []string{"etcd", "kube-apiserver", "kube-scheduler"} {
		if c.CPU()[name] <= 0 {
			t.Errorf("%s used no CPU", name)
		}
	}
}

// The server that fails fails as often as it is told, says so, and what it wrote in
// spite of that is there.
func TestFaults(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{})
	f := c.Faults(0.5, 1)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: f.URL, BearerToken: c.Config().BearerToken, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	var good atomic.Int64
	const n = 60
	c.Many(n, func(ctx context.Context, i int) error {
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c-%d", i)}}
		if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, config, metav1.CreateOptions{}); err == nil {
			good.Add(1)
		}
		return ctx.Err()
	})
	list, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	counts := f.Counts()
	written, total := 0, 0
	for kind, k := range counts {
		total += k
		if kind == "504 but written" || kind == "cut but written" {
			written += k
		}
	}
	if len(counts) != 5 || total < n/4 {
		t.Errorf("%d of %d writes failed: %v", total, n, counts)
	}
	if told := int(good.Load()); len(list.Items) != told+written || told == n {
		t.Errorf("%d objects: %d were said to be written, %d were without being said", len(list.Items), told, written)
	}
}
